import LatewoodBytes
import LatewoodDevice
import LatewoodDocuments
import LatewoodFleece
import LatewoodInspection
import LatewoodStore

extension OptionDescription {
  static let allKeyspaces = OptionDescription(
    name: "--all", summary: "list the keyspaces, too, that hold documents or notes of the tool")
}

extension CommandDescription {
  static let info = CommandDescription(
    name: "info",
    summary: "show the contents of a database and the space that they take",
    operands: [.database],
    options: [.allKeyspaces],
    discussion: [
      "Live bytes are those that the newest checkpoint refers to; log bytes are commits that no checkpoint "
        + "holds yet; dead bytes belong to earlier states.",
      "All figures are from counters in the file and a few nodes. Reading them takes as long for a large file as "
        + "for a small one with the same amount of log. Bytes of a keyspace count its nodes and large values in the "
        + "newest checkpoint. The fill of leaves is a mean of at most 1,024 of them. Everything before \"durable "
        + "through\" survives a power cut.",
      "`latewood map` lists dead bytes by kind. What a compaction would save on disk is an estimate: `latewood "
        + "size` reads everything, and gives a closer one and its reasons.",
      "Documents are stored in keyspaces with names such as documents/films, and import keeps notes for export "
        + "in the keyspace .imports. These are listed only with --all.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood info my.latewood", explanation: "Sizes, keyspaces, state of the log.")
    ],
    json: [
      #"{"path":"TEXT","formatVersion":NUMBER,"fileID":"HEX","created":"TIME","#,
      #"  "transaction":NUMBER,"checkpointTransaction":NUMBER,"checkpoints":NUMBER,"#,
      #"  "fileBytes":BYTES,"allocatedBytes":BYTES,"liveBytes":BYTES,"#,
      #"  "logBytes":BYTES,"deadBytes":BYTES,"treeHeight":NUMBER,"#,
      #"  "databaseID":"HEX","checkpointTime":"TIME" or null,"#,
      #"  "checkpointOffset":BYTES or null,"newestCommit":NUMBER,"#,
      #"  "durableThrough":BYTES,"hasWriter":true|false,"#,
      #"  "compactionSaves":BYTES,"unsearchedBytes":BYTES,"fillPercent":NUMBER,"#,
      #"  "leftovers":[{"path":"TEXT","bytes":BYTES}, ...],"#,
      #"  "recovery":{"replayedTransactions":NUMBER,"replayedBytes":BYTES,"#,
      #"    "tornTail":null or {"offset":BYTES,"length":BYTES}},"#,
      #"  "keyspaces":[{"name":"TEXT","entries":NUMBER,"#,
      #"    "bytes":BYTES}, ...],"#,
      #"  "collections":[as `latewood collections` prints them]}"#,
    ]
  ) { arguments, console throws(Failure) in
    let info = try Database.reading(arguments).closing { (database) throws(Failure) in
      var info = try DatabaseInfo(of: database)
      if try database.holdsDocuments() {
        info.holdsDocuments = true
        try DocumentDatabase.reading(arguments).closing { (documents) throws(Failure) in
          info.collections = try CollectionFacts.all(of: documents.store)
          do throws(DocumentError) { info.reclaimable = try documents.store.reclaimableBytes() } catch {
            throw Failure(error)
          }
        }
        // The list of those bodies is removed with them, together with the tree's overhead for
        // each.
        for list in info.keyspaces where list.name.hasPrefix("superseded/") {
          info.reclaimable &+= list.bytes &+ UInt64(list.entries) &* (8 + KeyspaceContent.entryOverhead)
        }
      }
      return info
    }
    if console.printsJSON {
      try console.json { info.write(to: &$0) }
    } else {
      try info.print(on: console, all: arguments.has(.allKeyspaces))
      if !info.collections.isEmpty {
        try console.line("")
        try console.line(console.style.bold("collections"))
        for collection in info.collections { try console.line("  " + collection.line(in: 78)) }
      }
    }
    return .success
  }
}

/// The information that `info` shows about a database, read from one open store.
private struct DatabaseInfo {
  let path: String
  let statistics: Statistics
  let checkpoints: Int
  let recovery: RecoveryReport
  let layout: FileLayoutFacts
  var keyspaces: [(name: String, entries: Int, bytes: UInt64)] = []
  var collections: [CollectionFacts] = []
  /// Whether the keyspaces are those of documents.
  var holdsDocuments = false
  /// The approximate bytes that a compaction omits: bodies of old revisions and their overhead.
  var reclaimable: UInt64 = 0
  /// The files that interrupted operations left next to the database.
  let leftovers: [(path: String, bytes: UInt64)]

  init(of database: Database) throws(Failure) {
    path = database.path
    recovery = database.store.recovery
    layout = try FileLayoutFacts(at: path)
    do {
      statistics = try database.store.statistics()
      leftovers = try statistics.leftovers.map { ($0, try Self.allocatedBytes(of: $0)) }
      checkpoints = try database.store.history().count
      let snapshot = try database.store.snapshot()
      for keyspace in try database.store.keyspaces() {
        keyspaces.append(
          (keyspace.name, try snapshot.count(in: keyspace), layout.bytes(ofKeyspace: keyspace.id)))
      }
    } catch { throw Failure(error) }
  }

  /// Returns the bytes on the disk of a file, which may be gone by now.
  private static func allocatedBytes(of path: String) throws -> UInt64 {
    guard try FileVolume().exists(path) else { return 0 }
    let device = try FileVolume().open(path, .readOnly)
    defer { device.close() }
    return try device.allocatedSize()
  }

  func print(on console: Console, all: Bool) throws(Failure) {
    let share = Quantity.share(layout.deadBytes, of: statistics.fileSize)
    var fields = [
      ("file", KeyText.shown(path.utf8)),
      ("file id", statistics.fileID),
      ("database id", layout.databaseID),
      (
        "format",
        "\(statistics.formatVersion), created \(Timestamp.shown(microseconds: statistics.created)) UTC"
      ),
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
        saves < 4096 ? "would save nothing" : "would save about \(Quantity.bytes(saves)) on disk"
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
        "checkpoints", Quantity.count(checkpoints) + (layout.checkpoint.map { ", the newest at \($0)" } ?? "")
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
    try console.line("")
    guard !keyspaces.isEmpty else { return try console.line("No keyspaces yet.") }
    let shown = keyspaces.filter { all || !holdsDocuments && $0.name != ImportRecord.keyspaceName }
    if !shown.isEmpty { try console.line(console.style.bold("keyspaces")) }
    try console.fields(
      shown.map {
        (
          "  " + DisplayWidth.fitted(KeyText.shown($0.name.utf8), to: 40),
          DisplayWidth.padded(Quantity.count($0.entries, "entry", "entries"), to: 18)
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
    writer.member("fileID", statistics.fileID)
    writer.member("created", Timestamp.exact(microseconds: statistics.created))
    writer.member("transaction", statistics.transaction)
    writer.member("checkpointTransaction", statistics.checkpointTransaction)
    writer.member("checkpoints", checkpoints)
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
      writer.member("entries", keyspace.entries)
      writer.member("bytes", keyspace.bytes)
    }
    writer.array("collections", collections) { writer, collection in collection.write(to: &writer) }
    writer.endDictionary()
  }
}
