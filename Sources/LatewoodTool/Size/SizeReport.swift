import LatewoodBytes
import LatewoodDevice
import LatewoodDocuments
import LatewoodInspection
import LatewoodStore

/// The answer to "why is my file so big?".
struct SizeReport {
  /// The share of a kind, in a collection or in the entire database.
  struct KindSize {
    var kind: SpaceKind
    var entries: UInt64 = 0
    /// The bytes of keys and values in the newest state.
    var contentBytes: UInt64 = 0
    /// The bytes in the newest checkpoint, with the nodes around them.
    var fileBytes: UInt64 = 0
  }

  /// A collection; without a name, everything outside of collections.
  struct Collection {
    var name: String?
    var documents: UInt64 = 0
    var kinds: [KindSize] = []
    var fileBytes: UInt64 { kinds.reduce(0) { $0 &+ $1.fileBytes } }
    var contentBytes: UInt64 { kinds.reduce(0) { $0 &+ $1.contentBytes } }

    mutating func add(_ kind: SpaceKind, entries: UInt64 = 0, content: UInt64 = 0, file: UInt64 = 0) {
      let place: Int
      if let known = kinds.firstIndex(where: { $0.kind == kind }) {
        place = known
      } else {
        kinds.append(KindSize(kind: kind))
        place = kinds.count - 1
      }
      kinds[place].entries &+= entries
      kinds[place].contentBytes &+= content
      kinds[place].fileBytes &+= file
    }
  }

  /// A keyspace of a database without documents.
  struct KeyspaceSize {
    var content: KeyspaceContent
    var facts = LiveTree.KeyspaceUsage()
  }

  let path: String
  let parts: FileParts
  /// The parts of the live data that are damaged or cannot be read, in the order of the file. With
  /// any of them, a compaction fails.
  private(set) var faults: [StorageError]
  /// The names of keyspaces and collections that were counted only up to a fault.
  private(set) var incomplete: [String] = []
  var holdsDocuments = false
  /// The collections, by size; empty without documents.
  var collections: [Collection] = []
  /// The keyspaces, by size; empty with documents.
  var keyspaces: [KeyspaceSize] = []
  /// A collection with expired documents.
  var collectionWithExpired: String?
  var largestDocuments = LargestItems<NotableDocument>(limit: 0)
  /// The documents that were saved most often, at least twice.
  var rewrittenDocuments = LargestItems<NotableDocument>(limit: 0)
  var largestEntries = LargestItems<LargeEntry>(limit: 0)
  var savings = SizeSavings()

  /// Returns the report on a database. Reads everything once; keeps only sums, the `limit` largest
  /// items and the map of the file.
  static func of(
    _ path: String, on volume: any Volume = FileVolume(), limit: Int
  ) throws -> SizeReport {
    // Open the store first, because it has the best errors for a file that cannot be opened.
    try Database.inspecting(path, on: volume).closing { database in
      var report = SizeReport(path: path, parts: try FileParts(at: path, on: volume))
      do {
        report.holdsDocuments = try database.holdsDocuments()
        if report.holdsDocuments {
          try DocumentDatabase.inspecting(path, on: volume).closing { documents in
            try report.survey(documents, limit: limit)
          }
        } else {
          try report.survey(database, limit: limit)
        }
      } catch {
        // The names of keyspaces cannot be read; the parts of the file are known nevertheless.
        try report.note(error, in: SpaceRole.catalogName)
      }
      return report
    }
  }

  private init(path: String, parts: FileParts) {
    self.path = path
    self.parts = parts
    faults = parts.faults
  }

  /// Notes that some entries were not counted; rethrows any error that does not mean unreadable
  /// data.
  private mutating func note(_ error: (any Error)?, in name: String) throws {
    guard let error else { return }
    let failure = try Failure.ofUnreadablePart(error)
    if !incomplete.contains(name) { incomplete.append(name) }
    // The faults of the file as a whole include this one, unless the disk has just lost it.
    if faults.isEmpty { faults.append(StorageError(.damaged, failure.message, offset: failure.offset)) }
  }

  // MARK: Entries

  private mutating func survey(_ database: Database, limit: Int) throws {
    let snapshot = try database.newest()
    defer { snapshot.close() }
    var largest = LargestItems<LargeEntry>(limit: limit)
    let facts = Dictionary(parts.keyspaces.map { ($0.name, $0.facts) }, uniquingKeysWith: { $1 })
    for keyspace in try snapshot.keyspaces() {
      let content = try KeyspaceContent(of: keyspace, in: snapshot) { key, length in
        largest.add(
          UInt64(key.byteCount) &+ length,
          LargeEntry(
            keyspace: keyspace.name, key: key.withUnsafeBytes { Array($0) }, valueBytes: length))
      }
      try note(content.fault, in: keyspace.name)
      keyspaces.append(KeyspaceSize(content: content, facts: facts[keyspace.name] ?? .init()))
    }
    largestEntries = largest
    savings.estimate(parts, keyspaces.map(\.content))
    keyspaces.sort { ($0.facts.bytes, $0.content.bytes) > ($1.facts.bytes, $1.content.bytes) }
  }

  // MARK: Documents

  private mutating func survey(_ database: DocumentDatabase, limit: Int) throws {
    let snapshot = try database.store.snapshot()
    let names = try snapshot.collectionNames()
    defer { snapshot.close() }
    let depth = database.store.depth
    let depths = [depth] + SizeSavings.triedDepths.filter { $0 < depth }
    savings.depth = depth
    var largest = LargestItems<NotableDocument>(limit: limit)
    var rewritten = LargestItems<NotableDocument>(limit: limit)
    var tallies: [String: CollectionTally] = [:]
    for name in names {
      let tally = try CollectionTally.of(name, in: snapshot, depths: depths, &largest, &rewritten)
      try note(tally.fault, in: name)
      tallies[name] = tally
    }
    (largestDocuments, rewrittenDocuments) = (largest, rewritten)
    var contents: [KeyspaceContent] = []
    for keyspace in try snapshot.stored.keyspaces() {
      let content = try KeyspaceContent(of: keyspace, in: snapshot.stored)
      try note(content.fault, in: keyspace.name)
      contents.append(content)
    }
    do {
      savings.unneeded = try snapshot.unneededBlobs()
      let chunks = contents.first { $0.name == "chunks" }?.valueBytes ?? 0
      savings.unfinishedUploadBytes = chunks - min(chunks, savings.unneeded.blobBytes)
    } catch { try note(error, in: "blobs") }
    collectionWithExpired = names.first { tallies[$0]?.expired ?? 0 > 0 }
    for tally in tallies.values {
      savings.expired += tally.expired
      savings.expiredBytes &+= tally.expiredBytes
      savings.tooDeepBytes &+= tally.prunable[0]
    }
    savings.pruning = depths.indices.dropFirst().map { index in
      let bytes = tallies.values.reduce(0 as UInt64) { $0 &+ $1.prunable[index] }
      return (depths[index], bytes - min(bytes, savings.tooDeepBytes))
    }
    divide(contents, tallies, names)
    savings.estimate(parts, contents)
  }

  /// Divides keyspaces among collections and kinds.
  private mutating func divide(
    _ contents: [KeyspaceContent], _ tallies: [String: CollectionTally], _ names: [String]
  ) {
    var found: [String?: Collection] = [nil: Collection()]
    for name in names { found[name] = Collection(name: name, documents: tallies[name]?.documents ?? 0) }
    func change(_ name: String?, _ body: (inout Collection) -> Void) {
      body(&found[name, default: Collection(name: name)])
    }
    let known = Dictionary(contents.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    for content in contents {
      let role = SpaceRole(content.name, isOfDocuments: true)
      let tally = tallies[role.collection ?? ""]
      change(role.collection) { collection in
        guard role.kind == .currentBodies else {
          // Short bodies are in records.
          let inRecords = content.name.hasPrefix("documents/") ? tally?.bodyBytesInRecords ?? 0 : 0
          if inRecords > 0 {
            collection.add(.currentBodies, entries: tally?.bodiesInRecords ?? 0, content: inRecords)
          }
          // The list of superseded bodies counts as their bytes, but not as additional entries.
          let isList = role.kind == .supersededBodies
          let entries = isList ? 0 : content.entries
          return collection.add(
            role.kind, entries: entries, content: content.bytes - min(content.bytes, inRecords))
        }
        let list = known["superseded/\(role.collection ?? "")"]
        let current = min(tally?.bodyBytesApart ?? 0, content.valueBytes)
        let old = content.valueBytes - current
        let oldEntries = min(list?.entries ?? 0, content.entries)
        savings.supersededBytes &+= old &+ oldEntries &* (8 + KeyspaceContent.entryOverhead)
        savings.supersededBytes &+= list?.compactedBytes ?? 0
        let entries = content.entries - oldEntries
        collection.add(.currentBodies, entries: entries, content: current &+ entries &* 8)
        collection.add(.supersededBodies, entries: oldEntries, content: old &+ oldEntries &* 8)
      }
    }
    for (name, facts) in parts.keyspaces {
      let role = SpaceRole(name, isOfDocuments: true)
      let tally = tallies[role.collection ?? ""]
      // In the newest checkpoint, nodes contain both kinds of bodies, or bodies and records: divide
      // the bytes by their lengths.
      func share(_ part: UInt64?, of all: UInt64?, none: Double) -> UInt64 {
        let all = all ?? 0
        let share = all == 0 ? none : Double(min(part ?? 0, all)) / Double(all)
        return min(facts.bytes, UInt64(Double(facts.bytes) * share))
      }
      change(role.collection) { collection in
        if name.hasPrefix("documents/") {
          let bytes = share(tally?.bodyBytesInRecords, of: known[name]?.bytes, none: 0)
          if bytes > 0 { collection.add(.currentBodies, file: bytes) }
          return collection.add(role.kind, file: facts.bytes - bytes)
        }
        guard role.kind == .currentBodies else { return collection.add(role.kind, file: facts.bytes) }
        let bytes = share(tally?.bodyBytesApart, of: known[name]?.valueBytes, none: 1)
        collection.add(.currentBodies, file: bytes)
        collection.add(.supersededBodies, file: facts.bytes - bytes)
      }
    }
    change(nil) { $0.add(.catalog, file: parts.catalogBytes) }
    for name in found.keys {
      found[name]?.kinds.removeAll { $0.entries == 0 && $0.contentBytes == 0 && $0.fileBytes == 0 }
      found[name]?.kinds.sort { ($0.fileBytes, $0.contentBytes) > ($1.fileBytes, $1.contentBytes) }
    }
    collections = found.values.sorted {
      ($0.fileBytes, $0.contentBytes, $1.name ?? "") > ($1.fileBytes, $1.contentBytes, $0.name ?? "")
    }
  }

  // MARK: The sum

  /// The parts of the file; they add up to its size.
  var sum: [FilePart] {
    var kinds: [SpaceKind: UInt64] = [:]
    if holdsDocuments {
      for collection in collections {
        for kind in collection.kinds { kinds[kind.kind, default: 0] &+= kind.fileBytes }
      }
    } else {
      kinds[.entries] = parts.keyspaces.reduce(0) { $0 &+ $1.facts.bytes }
      kinds[.catalog] = parts.catalogBytes
    }
    return SpaceKind.allCases.map { FilePart(name: $0.rawValue, words: $0.words, bytes: kinds[$0] ?? 0) }
      + [
        FilePart(name: "tree", words: "rest of the tree: inner nodes", bytes: parts.treeRest),
        FilePart(name: "log", words: "log that no checkpoint has merged", bytes: parts.log),
        FilePart(name: "dead", words: "dead: replaced or deleted", bytes: parts.dead),
        FilePart(name: "holes", words: "holes, given back to the disk", bytes: parts.holesWithoutSpace),
        FilePart(
          name: "zeros", words: "empty blocks that take space", bytes: parts.holes - parts.holesWithoutSpace),
        FilePart(name: "room", words: "room behind the log", bytes: parts.room),
        FilePart(name: "header", words: "header and root slots", bytes: parts.fixed),
        FilePart(name: "damaged", words: "damaged or unreadable", bytes: parts.damaged),
        FilePart(name: "rest", words: "left over: frame headers, padding", bytes: parts.frames),
      ]
  }
}
