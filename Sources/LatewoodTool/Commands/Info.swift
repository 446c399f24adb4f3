import LatewoodBytes
import LatewoodDevice
import LatewoodDocuments
import LatewoodFleece
import LatewoodInspection
import LatewoodStore

extension OptionDescription {
  static let allKeyspaces = OptionDescription(
    name: "--all", summary: "also list keyspaces that hold documents or notes of the tool")
}

extension CommandDescription {
  static let info = CommandDescription(
    name: "info",
    summary: "show the contents of a database and the space that they take",
    operands: [.database],
    options: [.allKeyspaces, .expect],
    discussion: [
      "Live bytes are those that the newest checkpoint refers to; log bytes are commits that no checkpoint "
        + "contains yet; dead bytes belong to earlier states.",
      "All figures are derived from counters in the file and a few nodes, so a large file takes no longer than a small "
        + "one with the same amount of log. The bytes of a keyspace are its nodes and large values in the newest "
        + "checkpoint. The fill of leaves is the mean of at most 1,024 leaves. Everything before \"durable through\" "
        + "survives a power cut.",
      "If one of these nodes cannot be read, the output reports it, and the exit code is 1, because every compaction "
        + "then fails. `latewood size` and `latewood verify` read everything, and also find unreadable data elsewhere.",
      "`latewood inspect map` lists dead bytes by kind. The disk space that a compaction would free is an estimate. "
        + "`latewood size` reads everything, and prints a better estimate with its reasons.",
      "If the file is encrypted and no key is given, only its sizes and numbers are shown. The newest anchor of an "
        + "encrypted file is shown so that it can be compared with one that was kept; see `latewood help anchor`.",
      "Documents are stored in keyspaces with names such as documents/films, and import keeps notes for export "
        + "in the keyspace .imports. These are listed only with --all.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood info my.latewood", explanation: "Sizes, keyspaces, and the state of the log.")
    ],
    json: [
      #"{"path":"TEXT","formatVersion":NUMBER,"documentFormat":NUMBER or null,"#,
      #"  "cipher":"aes256"|"chacha20" or null,"anchor":"TEXT" or null,"#,
      #"  "fileID":"HEX","created":"TIME","#,
      #"  "transaction":NUMBER,"checkpointTransaction":NUMBER,"#,
      #"  "checkpoints":NUMBER or null,"fileBytes":BYTES,"#,
      #"  "allocatedBytes":BYTES,"liveBytes":BYTES,"#,
      #"  "logBytes":BYTES,"deadBytes":BYTES,"treeHeight":NUMBER,"#,
      #"  "databaseID":"HEX","checkpointTime":"TIME" or null,"#,
      #"  "checkpointOffset":BYTES or null,"newestCommit":NUMBER,"#,
      #"  "durableThrough":BYTES,"hasWriter":true|false,"#,
      #"  "compactionSaves":BYTES,"unsearchedBytes":BYTES,"fillPercent":NUMBER,"#,
      #"  "leftovers":[{"path":"TEXT","bytes":BYTES}, ...],"#,
      #"  "recovery":{"replayedTransactions":NUMBER,"replayedBytes":BYTES,"#,
      #"    "tornTail":null or {"offset":BYTES,"length":BYTES}},"#,
      #"  "keyspaces":[{"name":"TEXT","entries":NUMBER or null,"#,
      #"    "bytes":BYTES}, ...],"#,
      #"  "collections":[as `latewood collections` prints them],"#,
      #"  "faults":[{"offset":BYTES,"what":"TEXT"}, ...],"#,
      #"  "advice":{"text":"TEXT","command":"TEXT"} or null}"#,
      "faults lists live data that cannot be read, which makes every compaction fail.",
      "Without the key of an encrypted file, members that need it are left out.",
    ]
  ) { arguments, console in
    let path = try arguments.text(0)
    let info: DatabaseInfo
    let expected = try arguments.expectedAnchor()
    do { info = try DatabaseInfo.of(path, expecting: expected) } catch {
      // Without the key, nothing proves which state this is.
      guard expected == nil, Failure(error).code == "keyNeeded" else { throw error }
      return try LockedFile.of(path) { try $0.showInfo(on: console) }
    }
    if console.printsJSON {
      try console.json { info.write(to: &$0) }
    } else {
      try info.print(on: console, all: arguments.has(.allKeyspaces))
      if !info.collections.isEmpty {
        try console.line("")
        try console.line(console.style.bold("collections"))
        for collection in info.collections {
          try console.line("  " + collection.line(in: 78))
          for index in collection.indexes { try console.line("    index " + index.line(in: 70)) }
        }
      }
    }
    return info.faults.isEmpty ? .success : .no
  }
}

/// The information that `info` shows about a database, read from one open store.
struct DatabaseInfo {
  let path: String
  let statistics: Statistics
  /// The number of checkpoints; nil if the disk cannot read one of them.
  let checkpoints: Int?
  let recovery: RecoveryReport
  let layout: FileLayoutFacts
  /// The keyspaces. The number of entries is nil if a node that has it cannot be read.
  private(set) var keyspaces: [(name: String, entries: Int?, bytes: UInt64)] = []
  private(set) var collections: [CollectionFacts] = []
  /// Whether the keyspaces are those of documents.
  private(set) var holdsDocuments = false
  /// The number of the format of the documents; nil if there are none.
  private var documentFormat: UInt64?
  /// The approximate bytes that a compaction omits: bodies of old revisions and their overhead.
  private var reclaimable: UInt64 = 0
  /// The parts of the live data that this could not read.
  private(set) var faults: [StorageError]
  /// The newest anchor that an encrypted file has given.
  private let anchor: StateAnchor?
  /// The files that interrupted operations left next to the database.
  let leftovers: [(path: String, bytes: UInt64)]

  static func of(
    _ path: String, on volume: any Volume = FileVolume(), expecting expected: StateAnchor? = nil
  ) throws -> DatabaseInfo {
    try Database.inspecting(path, on: volume, expecting: expected).closing { database in
      var info = try DatabaseInfo(of: database, on: volume)
      do { try info.readKeyspaces(of: database, on: volume) } catch { try info.note(error) }
      return info
    }
  }

  private init(of database: Database, on volume: any Volume) throws {
    path = database.path
    anchor = database.store.anchors.last
    recovery = database.store.recovery
    layout = try FileLayoutFacts(at: path, on: volume)
    faults = layout.faults
    statistics = try database.store.statistics()
    leftovers = try statistics.leftovers.map { ($0, try Self.allocatedBytes(of: $0)) }
    do { checkpoints = try database.store.history().count } catch {
      _ = try Failure.ofUnreadablePart(error)
      checkpoints = nil
    }
  }

  private mutating func readKeyspaces(of database: Database, on volume: any Volume) throws {
    let snapshot = try database.newest()
    defer { snapshot.close() }
    let found = try snapshot.keyspaces()
    for keyspace in found {
      var count: Int?
      do { count = try snapshot.count(in: keyspace) } catch { try note(error) }
      keyspaces.append((keyspace.name, count, layout.bytes(ofKeyspace: keyspace.id)))
    }
    holdsDocuments = try database.holdsDocuments()
    guard holdsDocuments else { return }
    try DocumentDatabase.inspecting(path, on: volume).closing { documents in
      collections = try CollectionFacts.all(of: documents.store)
      documentFormat = try documents.store.format().rawValue
      reclaimable = try documents.store.reclaimableBytes()
    }
    // The list of those bodies is removed with them, together with the tree's overhead for each.
    for list in keyspaces where list.name.hasPrefix("superseded/") {
      reclaimable &+= list.bytes &+ UInt64(list.entries ?? 0) &* (8 + KeyspaceContent.entryOverhead)
    }
  }

  /// Notes that a part of the live data cannot be read; rethrows any other error.
  private mutating func note(_ error: any Error) throws {
    let failure = try Failure.ofUnreadablePart(error)
    // The faults of the layout include this one, unless it is in a node that was not read for it.
    if faults.isEmpty { faults.append(StorageError(.damaged, failure.message, offset: failure.offset)) }
  }

  /// The advice: about live data that cannot be read, or about a file that is suspiciously large.
  var advice: SizeAdvice? {
    if let unreadable = SizeAdvice.unreadable(faults, path) { return unreadable }
    // The bounds of `CompactionPolicy`.
    let live = statistics.liveBytes &+ layout.logBytes
    guard statistics.allocatedSize / 3 > live &+ (32 << 20) / 3 else { return nil }
    return SizeAdvice(
      text:
        "The file is larger than automatic compaction leaves it. Unless the app has turned that off, or keeps "
        + "earlier states, it may be failing because live data cannot be read. This finds out.",
      command: "latewood size \(ShellText.quoted(path))")
  }

  /// Returns the bytes on the disk of a file, which may be gone by now.
  private static func allocatedBytes(of path: String) throws -> UInt64 {
    guard try FileVolume().exists(path) else { return 0 }
    let device = try FileVolume().open(path, .readOnly)
    defer { device.close() }
    return try device.allocatedSize()
  }

  func print(on console: Console, all: Bool) throws {
    let share = Quantity.share(layout.deadBytes, of: statistics.fileSize)
    var fields = [
      ("file", KeyText.shown(path.utf8)),
      ("file id", statistics.fileID),
      ("database id", layout.databaseID),
      (
        "format",
        "\(statistics.formatVersion), \(documentFormat.map { "of documents \($0), " } ?? "")created \(Timestamp.shown(microseconds: statistics.created)) UTC"
      ),
    ]
    if let suite = layout.suite { fields.append(("encryption", suite.shownName)) }
    if let anchor { fields.append(("newest anchor", anchor.description)) }
    fields += [
      ("open for writing", layout.hasWriter ? "by a process, now" : "by nobody"),
      ("size", "\(Quantity.bytes(statistics.fileSize)), on disk \(Quantity.bytes(statistics.allocatedSize))"),
      ("live", Quantity.bytes(statistics.liveBytes)),
      ("log", Quantity.bytes(layout.logBytes)),
      ("dead", "\(Quantity.bytes(layout.deadBytes)), \(share) of the file"),
    ]
    let saves = layout.compactionSaves(statistics, reclaimable: reclaimable)
    fields += [
      (
        "compaction",
        !faults.isEmpty
          ? "fails: live data cannot be read"
          : saves < 4096 ? "would save nothing" : "would save about \(Quantity.bytes(saves)) on disk"
      ),
      (
        "tree",
        Quantity.count(statistics.treeHeight, "level", "levels")
          + (statistics.treeHeight > 0 ? ", leaves \(layout.fillPercent)% full" : "")
      ),
      (
        "transactions", "\(statistics.transaction), of which checkpointed \(statistics.checkpointTransaction)"
      ),
      (
        "checkpoints",
        (checkpoints.map { Quantity.count($0) } ?? "unreadable")
          + (layout.checkpoint.map { ", the newest at \($0)" } ?? "")
      ),
      (
        "durable through",
        "\(Quantity.count(layout.durableThrough)), of \(Quantity.count(layout.logEnd)) written"
      ),
    ]
    if let rest = layout.unsearched {
      fields.append(
        (
          "not searched",
          "\(Quantity.bytes(UInt64(rest.count))) from offset \(rest.lowerBound) on, too far behind the log"
        ))
    }
    for leftover in leftovers {
      fields.append(
        (
          "left over",
          "\(KeyText.shown(leftover.path.utf8)), \(Quantity.bytes(leftover.bytes))"
        ))
    }
    if let tail = recovery.tornTail {
      fields.append(
        (
          "skipped",
          "\(Quantity.bytes(UInt64(tail.count))) of an unfinished write at offset \(tail.lowerBound)"
        ))
    }
    try console.fields(fields)
    if !leftovers.isEmpty {
      try console.sentence(
        "An interrupted compaction, backup or replacement has left that. "
          + "The next command or app that opens the database for writing removes it.")
    }
    if let advice {
      try console.line("")
      try console.output.write(
        HelpText.paragraph(advice.text, indent: 0, width: console.proseWidth)
          + (advice.command.map { "  \($0)\n" } ?? ""))
    }
    try console.line("")
    guard !keyspaces.isEmpty else {
      return try console.line(faults.isEmpty ? "No keyspaces yet." : "The names of keyspaces cannot be read.")
    }
    let shown = keyspaces.filter { all || !holdsDocuments && $0.name != ImportRecord.keyspaceName }
    if !shown.isEmpty { try console.line(console.style.bold("keyspaces")) }
    try console.fields(
      shown.map {
        (
          "  " + DisplayWidth.fitted(KeyText.shown($0.name.utf8), to: 40),
          DisplayWidth.padded(
            $0.entries.map { Quantity.count($0, "entry", "entries") } ?? "unreadable", to: 18)
            + Quantity.bytes($0.bytes)
        )
      })
    let hidden = keyspaces.count - shown.count
    if hidden > 0 {
      try console.line(
        "  \(Quantity.count(hidden, "internal keyspace", "internal keyspaces")); --all lists them")
    }
  }

  func write(to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.member("path", path)
    writer.member("formatVersion", statistics.formatVersion)
    writer.optional("documentFormat", documentFormat)
    writer.optional("cipher", text: layout.suite?.word)
    writer.optional("anchor", text: anchor?.description)
    writer.member("fileID", statistics.fileID)
    writer.member("created", Timestamp.exact(microseconds: statistics.created))
    writer.member("transaction", statistics.transaction)
    writer.member("checkpointTransaction", statistics.checkpointTransaction)
    writer.optional("checkpoints", checkpoints)
    writer.member("fileBytes", statistics.fileSize)
    writer.member("allocatedBytes", statistics.allocatedSize)
    writer.member("liveBytes", statistics.liveBytes)
    writer.member("logBytes", layout.logBytes)
    writer.member("deadBytes", layout.deadBytes)
    writer.member("treeHeight", statistics.treeHeight)
    layout.write(statistics, reclaimable: reclaimable, to: &writer)
    writer.key("recovery")
    writer.beginDictionary()
    writer.member("replayedTransactions", recovery.replayedTransactions)
    writer.member("replayedBytes", recovery.replayedBytes)
    writer.key("tornTail")
    if let tail = recovery.tornTail {
      writer.beginDictionary()
      writer.member("offset", tail.lowerBound)
      writer.member("length", tail.count)
      writer.endDictionary()
    } else {
      writer.null()
    }
    writer.endDictionary()
    writer.list("leftovers", leftovers) { writer, leftover in
      writer.member("path", leftover.path)
      writer.member("bytes", leftover.bytes)
    }
    writer.list("keyspaces", keyspaces) { writer, keyspace in
      writer.member("name", keyspace.name)
      writer.optional("entries", keyspace.entries)
      writer.member("bytes", keyspace.bytes)
    }
    writer.array("collections", collections) { writer, collection in collection.write(to: &writer) }
    writer.member("faults", faults: faults)
    writer.key("advice")
    if let advice { advice.write(to: &writer) } else { writer.null() }
    writer.endDictionary()
  }
}
