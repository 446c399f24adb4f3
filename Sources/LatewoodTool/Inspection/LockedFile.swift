import LatewoodBytes
import LatewoodFile
import LatewoodFleece
import LatewoodInspection

/// An encrypted file without its key: the output of `info` and `verify`.
///
/// The log, slots and checkpoints can be read and everything but large values can be compared with
/// its checksum. What is in the tree, and which parts of the file are live, cannot be found out.
struct LockedFile {
  private let file: InspectedFile

  /// Opens a file, calls `body` with it, and closes it.
  static func of<R>(_ path: String, _ body: (LockedFile) throws -> R) throws -> R {
    let file = try InspectedFile.opened(at: path, needsKey: false, badBlocks: .readAsZeros)
    defer { file.close() }
    return try body(LockedFile(file: file))
  }

  private static let advice = "The rest needs the key. " + Failure.whatToDoWithoutKey

  // MARK: Sizes and numbers

  func showInfo(on console: Console) throws -> ExitCode {
    let (fields, faults) = (try fields(), file.faults)
    if console.printsJSON {
      try console.json { writer in
        writer.beginDictionary()
        for field in fields { field.write(&writer) }
        writer.member("faults", faults: faults)
        writer.endDictionary()
      }
    } else {
      try console.fields(fields.compactMap { field in field.text.map { (field.label, $0) } })
      try console.line("")
      try console.sentence(Self.advice)
      try console.tell(faults, path: file.path)
    }
    return faults.isEmpty ? .success : .no
  }

  /// A line for people, and the members of the same fact for programs.
  private struct Field {
    let label: String
    let text: String?
    let write: (inout JSONOutput) -> Void
  }

  private func fields() throws -> [Field] {
    let (header, checkpoint, log) = (file.header.header, file.checkpoint, file.log)
    let (size, allocated) = (file.size, try file.allocatedSize())
    let (unmerged, hasWriter) = (try file.unmergedBytes(), try file.hasWriter())
    let root = checkpoint?.record.root
    // The numbers in the file are not authenticated.
    let live = min(root?.liveBytes ?? 0, size)
    let checkpoints = try file.checkpoints().count
    return [
      Field(label: "file", text: KeyText.shown(file.path.utf8)) { $0.member("path", file.path) },
      Field(label: "file id", text: file.fileID) { $0.member("fileID", file.fileID) },
      Field(label: "database id", text: file.databaseID) { $0.member("databaseID", file.databaseID) },
      Field(
        label: "format",
        text:
          "\(FileHeader.formatVersion), created \(Timestamp.shown(microseconds: header?.created ?? 0)) UTC"
      ) {
        $0.member("formatVersion", FileHeader.formatVersion)
        $0.member("created", Timestamp.exact(microseconds: header?.created ?? 0))
      },
      Field(label: "encryption", text: (file.suite?.shownName ?? "") + "; no key was given") {
        $0.optional("cipher", text: file.suite?.word)
      },
      Field(label: "open for writing", text: hasWriter ? "by a process, now" : "by nobody") {
        $0.member("hasWriter", hasWriter)
      },
      Field(label: "size", text: "\(Quantity.bytes(size)), on disk \(Quantity.bytes(allocated))") {
        $0.member("fileBytes", size)
        $0.member("allocatedBytes", allocated)
      },
      Field(label: "live", text: Quantity.bytes(live)) { $0.member("liveBytes", live) },
      Field(label: "log", text: Quantity.bytes(unmerged)) { $0.member("logBytes", unmerged) },
      Field(
        label: "tree",
        text: root.map {
          "\(Quantity.count(Int($0.level) + 1, "level", "levels")), \(Quantity.count($0.entries, "entry", "entries"))"
        } ?? "empty"
      ) { $0.member("treeHeight", root.map { Int($0.level) + 1 } ?? 0) },
      Field(
        label: "transactions",
        text: "\(log.newestTransaction), of which checkpointed \(checkpoint?.record.transaction ?? 0)"
      ) {
        $0.member("transaction", log.newestTransaction)
        $0.member("checkpointTransaction", checkpoint?.record.transaction ?? 0)
      },
      Field(label: "checkpoints", text: Quantity.count(checkpoints)) {
        $0.member("checkpoints", checkpoints)
      },
      Field(
        label: "durable through",
        text:
          "\(Quantity.count(min(log.durableThrough, size))), of \(Quantity.count(min(log.end.offset, size))) written"
      ) { $0.member("durableThrough", min(log.durableThrough, size)) },
    ]
  }

  // MARK: Verification

  func showVerification(on console: Console) throws -> ExitCode {
    let map = try FileMap(file)
    let nodes = map.regions.count { $0.kind == .lockedNode }
    let checked = map.size - min(map.size, map.totals[.hole] ?? 0)
    let damage = DamageReport(map.faults.map { ($0.offset ?? 0, $0.reason) }, path: file.path)
    if console.printsJSON {
      try console.json { writer in
        writer.beginDictionary()
        writer.member("sound", map.faults.isEmpty)
        writer.member("locked", true)
        writer.member("transaction", file.log.newestTransaction)
        writer.member("nodes", nodes)
        writer.member("frames", file.log.frames)
        writer.member("bytesChecked", checked)
        writer.key("faults")
        damage.write(to: &writer)
        writer.endDictionary()
      }
    } else {
      try damage.show(on: console)
      let verdict =
        map.faults.isEmpty
        ? console.style.good("No fault found without the key.")
        : console.style.bad(Quantity.count(map.faults.count, "fault.", "faults."))
      try console.line("\(verdict) Checked \(Quantity.bytes(checked)):")
      try console.line(
        "\(Quantity.count(nodes, "node", "nodes")), \(Quantity.count(file.log.frames, "frame", "frames")) of log."
      )
      try console.sentence(Self.advice)
      if !damage.advice.isEmpty { try console.sentence(damage.advice) }
    }
    return map.faults.isEmpty ? .success : .no
  }
}

extension InspectedFile {
  /// The id of the database, in hexadecimal; zeros if it is not known.
  var databaseID: String {
    let id = header.header?.databaseID
    return Self.hex(id?.first ?? 0, id?.last ?? 0)
  }

  /// The id of the file, in hexadecimal; zeros if it is not known.
  var fileID: String {
    let id = header.header?.fileID
    return Self.hex(id?.first ?? 0, id?.last ?? 0)
  }

  private static func hex(_ first: UInt64, _ last: UInt64) -> String {
    [first, last].map { half in
      Hex.encode((0..<8).map { UInt8(truncatingIfNeeded: half >> UInt64(8 * $0)) })
    }.joined()
  }
}

extension CipherSuite {
  /// The name for people.
  var shownName: String {
    switch self {
    case .aes256: "AES-256"
    case .chaCha20: "ChaCha20"
    }
  }

  /// The word of `latewood encrypt --cipher`, and in JSON.
  var word: String {
    switch self {
    case .aes256: "aes256"
    case .chaCha20: "chacha20"
    }
  }
}
