import LatewoodDocuments
import LatewoodStore

/// The contents of one keyspace in the newest state, whether a checkpoint has merged them or not.
struct KeyspaceContent {
  let name: String
  var entries: UInt64 = 0
  var keyBytes: UInt64 = 0
  var valueBytes: UInt64 = 0
  var bytes: UInt64 { keyBytes &+ valueBytes }
  /// The reason why the entries after some key were not counted; nil if all were.
  private(set) var fault: Failure?

  /// Adds up the lengths of a keyspace's entries, up to the first that is damaged or cannot be
  /// read. O(entries).
  ///
  /// - Parameter visit: called with each key and the length of its value.
  init(
    of keyspace: Keyspace, in snapshot: Snapshot, _ visit: (RawSpan, UInt64) -> Void = { _, _ in }
  ) throws {
    name = keyspace.name
    var (entries, keyBytes, valueBytes): (UInt64, UInt64, UInt64) = (0, 0, 0)
    do {
      try snapshot.forEach(in: keyspace) { key, value in
        let length = UInt64(value.byteCount)
        entries += 1
        keyBytes &+= UInt64(key.byteCount)
        valueBytes &+= length
        visit(key, length)
        return true
      }
    } catch {
      fault = try Failure.ofUnreadablePart(error)
    }
    (self.entries, self.keyBytes, self.valueBytes) = (entries, keyBytes, valueBytes)
  }

  /// The bytes in a newly compacted file, without inner nodes: each entry also has a head, a slot
  /// and its lengths.
  var compactedBytes: UInt64 { bytes &+ entries &* Self.entryOverhead }
  static let entryOverhead: UInt64 = 9
}

/// One of the largest entries of a database without documents.
struct LargeEntry {
  let keyspace: String
  let key: [UInt8]
  let valueBytes: UInt64
}

/// One of the largest documents, or one of the documents that were saved most often.
struct NotableDocument {
  let collection: String
  let size: DocumentSize
}

/// The totals of the documents of a collection.
struct CollectionTally {
  let name: String
  private(set) var documents: UInt64 = 0
  private(set) var bodyBytes: UInt64 = 0
  /// The bytes of current bodies in records, and their number.
  private(set) var bodyBytesInRecords: UInt64 = 0
  private(set) var bodiesInRecords: UInt64 = 0
  /// The number of expired documents that are not purged yet.
  private(set) var expired: UInt64 = 0
  /// The bytes of bodies and records of expired documents.
  private(set) var expiredBytes: UInt64 = 0
  /// The bytes of records that pruning would remove, for each requested depth.
  private(set) var prunable: [UInt64]
  /// The reason why the documents after some id were not counted; nil if all were.
  private(set) var fault: Failure?

  /// Adds up the documents of a collection, up to the first that is damaged or cannot be read.
  /// O(documents × log n + revisions).
  static func of(
    _ name: String, in snapshot: DocumentSnapshot, depths: [Int],
    _ largest: inout LargestItems<NotableDocument>, _ rewritten: inout LargestItems<NotableDocument>
  ) throws -> CollectionTally {
    var tally = CollectionTally(name: name, prunable: [UInt64](repeating: 0, count: depths.count))
    do {
      try snapshot.forEachSize(in: name, depths: depths) { size in
        tally.add(size)
        largest.add(
          size.bodyBytes &+ size.supersededBytes &+ size.recordBytes,
          NotableDocument(collection: name, size: size))
        if size.generation > 1 {
          rewritten.add(size.generation, NotableDocument(collection: name, size: size))
        }
        return true
      }
    } catch {
      tally.fault = try Failure.ofUnreadablePart(error)
    }
    return tally
  }

  private init(name: String, prunable: [UInt64]) {
    self.name = name
    self.prunable = prunable
  }

  /// The bytes of the bodies of leaves outside records.
  var bodyBytesApart: UInt64 { bodyBytes - min(bodyBytes, bodyBytesInRecords) }

  private mutating func add(_ size: DocumentSize) {
    documents += 1
    bodyBytes &+= size.bodyBytes
    bodyBytesInRecords &+= size.bodyBytesInRecord
    if size.bodyBytesInRecord > 0 { bodiesInRecords += 1 }
    if size.isExpired {
      expired += 1
      expiredBytes &+= size.bodyBytes &+ size.recordBytes
    }
    for (index, bytes) in size.prunable.enumerated() { prunable[index] &+= bytes }
  }
}
