import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodStore

extension OptionDescription {
  static let deep = OptionDescription(
    name: "--deep", summary: "also decode every document, and follow every reference")
}

extension CommandDescription {
  static let verify = CommandDescription(
    name: "verify",
    summary: "read everything and check all of it",
    operands: [.database],
    options: [.deep],
    discussion: [
      "Checks every checksum, the order of the keys, all counts, and all references. It changes nothing. If there are faults, each is listed with its offset and the "
        + "exit code is 1; if the database is too damaged to be opened, it is 4. For a fault in the tree "
        + "it says which keys of the newest checkpoint are lost; the log may have some of them. The remains of an "
        + "unfinished write behind the log, which a crash leaves, are reported, but not as a fault.",
      "If the file holds documents, it also checks that records, feeds, bodies, indexes and counters agree, "
        + "and reads every blob. With --deep it decodes every document too, compares the blobs that it names "
        + "with those that are counted for it, checks the form of every tree of revisions, and follows every "
        + "entry of a feed back to its document. Each fault names the part that it affects.",
      "Without its key, only the bytes of an encrypted file are checked: the checksums of header, slots, log and "
        + "nodes. That finds damage by a disk, but no changes on purpose, and does not name lost keys.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood verify my.latewood && cp my.latewood backup/",
        explanation: "Copy the file only if it is sound."),
      ExampleDescription(
        line: "latewood verify films.latewood --deep", explanation: "Every document, too."),
    ],
    json: [
      #"{"sound":true|false,"transaction":NUMBER,"nodes":NUMBER,"entries":NUMBER,"#,
      #"  "extents":NUMBER,"frames":NUMBER,"bytesChecked":BYTES,"#,
      #"  "tornTail":null or {"offset":BYTES,"length":BYTES,"damage":true|false},"#,
      #"  "faults":[{"offset":BYTES,"what":"TEXT","lost":"TEXT"}, ...],"#,
      #"  "documents":{"documents":NUMBER,"bodies":NUMBER,"blobs":NUMBER,"#,
      #"    "missingBlobs":NUMBER,"#,
      #"    "faults":[{"collection":"NAME","id":"ID","revision":"REV","#,
      #"      "sequence":NUMBER,"blob":"HEX","what":"TEXT"}, ...]}},"#,
      #"the last member only if there are documents; a fault has the known members."#,
      #"Without the key of an encrypted file, "locked":true takes the place of"#,
      #""entries", "extents" and "documents"."#,
    ]
  ) { arguments, console in
    let start = MonotonicClock.nanoseconds
    let (report, documents): (VerifyReport, DocumentVerification?)
    do { (report, documents) = try check(arguments, on: console) } catch {
      if Failure(error).code == "keyNeeded" {
        return try LockedFile.of(arguments.text(0)) { try $0.showVerification(on: console) }
      }
      if Failure(error).exitCode == .damaged, !console.printsJSON {
        try DamageReport(unopenable: arguments.text(0))?.show(on: console)
      }
      throw error
    }
    let damage = DamageReport(report.faults.map { ($0.offset, $0.what) }, path: try arguments.text(0))
    if console.printsJSON {
      try console.json { write(report, damage, documents, to: &$0) }
    } else {
      try print(report, damage, documents, nanoseconds: MonotonicClock.nanoseconds &- start, on: console)
    }
    return report.isSound && documents?.isSound != false ? .success : .no
  }

  /// Returns the report on the bytes, and the report on the documents, if there are any.
  private static func check(
    _ arguments: Arguments, on console: Console
  ) throws -> (VerifyReport, DocumentVerification?) {
    let progress = Progress("Verifying", on: console)
    // The callback cannot throw, and failing to write a progress line does not justify stopping.
    func show(_ state: VerifyProgress) {
      do { try progress.update(state.bytesChecked, of: state.bytesTotal, unit: Quantity.bytes) } catch {}
    }
    let (report, holdsDocuments) = try Database.reading(arguments).closing { database in
      return (try database.store.verify { show($0) }, try database.holdsDocuments())
    }
    var documents: DocumentVerification?
    // If the bytes are damaged, faults in the documents are only consequences.
    if holdsDocuments, report.isSound {
      documents = try DocumentDatabase.reading(arguments).closing { database in
        try database.store.verify(deep: arguments.has(.deep), includesStore: false)
      }
    }
    try progress.finish()
    return (report, documents)
  }

  private static func print(
    _ report: VerifyReport, _ damage: DamageReport, _ documents: DocumentVerification?, nanoseconds: UInt64,
    on console: Console
  ) throws {
    for fault in documents?.faults ?? [] {
      try console.output.write(HelpText.paragraph("\(fault)", indent: 2, width: console.proseWidth))
    }
    try damage.show(on: console)
    let faults = report.faults.count + (documents?.faults.count ?? 0)
    let verdict =
      faults == 0
      ? console.style.good("Sound.")
      : console.style.bad(Quantity.count(faults, "fault.", "faults."))
    try console.line(
      "\(verdict) Checked \(Quantity.bytes(report.bytesChecked)) in \(Quantity.duration(nanoseconds: nanoseconds)):"
    )
    try console.line(
      "\(Quantity.count(report.nodes, "node", "nodes")), \(Quantity.count(report.entries, "entry", "entries")), "
        + "\(Quantity.count(report.extents, "large value", "large values")), "
        + "\(Quantity.count(report.frames, "frame", "frames")) of log.")
    if let tail = report.tornTail, !tail.isDamage {
      try console.sentence(
        "Behind the log are \(Quantity.bytes(UInt64(tail.range.count))) of an unfinished write at offset "
          + "\(tail.range.lowerBound), as a crash leaves them. No commit known to be durable is "
          + "missing; the next writer continues after them.")
    }
    if let documents {
      try console.line(
        "\(Quantity.count(documents.documents, "document", "documents")), "
          + "\(Quantity.count(documents.bodies, "body", "bodies")), "
          + "\(Quantity.count(documents.blobs, "blob", "blobs")).")
      if documents.missingBlobs > 0 {
        let missing = Quantity.count(documents.missingBlobs, "more blob", "more blobs")
        try console.sentence("Documents refer to \(missing) whose content was not saved here.")
      }
    }
    if !damage.advice.isEmpty { try console.sentence(damage.advice) }
  }

  private static func write(
    _ report: VerifyReport, _ damage: DamageReport, _ documents: DocumentVerification?,
    to writer: inout JSONOutput
  ) {
    writer.beginDictionary()
    writer.member("sound", report.isSound && documents?.isSound != false)
    writer.member("transaction", report.transaction)
    writer.member("nodes", report.nodes)
    writer.member("entries", report.entries)
    writer.member("extents", report.extents)
    writer.member("frames", report.frames)
    writer.member("bytesChecked", report.bytesChecked)
    writer.key("tornTail")
    if let tail = report.tornTail {
      writer.beginDictionary()
      writer.member("offset", tail.range.lowerBound)
      writer.member("length", tail.range.count)
      writer.member("damage", tail.isDamage)
      writer.endDictionary()
    } else {
      writer.null()
    }
    writer.key("faults")
    damage.write(to: &writer)
    if let documents {
      writer.key("documents")
      writer.beginDictionary()
      writer.member("documents", documents.documents)
      writer.member("bodies", documents.bodies)
      writer.member("blobs", documents.blobs)
      writer.member("missingBlobs", documents.missingBlobs)
      writer.array("faults", documents.faults) { writer, fault in write(fault, to: &writer) }
      writer.endDictionary()
    }
    writer.endDictionary()
  }

  private static func write(_ fault: DatabaseFault, to writer: inout JSONOutput) {
    writer.beginDictionary()
    if let collection = fault.collection { writer.member("collection", collection) }
    if let id = fault.documentID { writer.member("id", id) }
    if let revision = fault.revisionID { writer.member("revision", revision) }
    if let sequence = fault.sequence { writer.member("sequence", sequence) }
    if let blob = fault.blob { writer.member("blob", "\(blob)") }
    writer.member("what", fault.message)
    writer.endDictionary()
  }
}
