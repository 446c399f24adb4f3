import LatewoodStore

/// What ``DocumentStore/verify(progress:)`` found.
package struct DocumentVerifyReport: Sendable {
  /// More say nothing new.
  static let faultLimit = 10_000

  /// What of the documents is not as it must be, a sentence each.
  package internal(set) var faults: [String] = []
  package internal(set) var documents = 0
  package internal(set) var bodies = 0
  package internal(set) var blobs = 0
  /// What the store says of the bytes.
  package internal(set) var store: VerifyReport?

  package var isSound: Bool { faults.isEmpty && store?.isSound != false }

  mutating func add(_ fault: String) {
    if faults.count < DocumentVerifyReport.faultLimit { faults.append(fault) }
  }

  mutating func require(_ isSo: Bool, _ fault: @autoclosure () -> String) {
    if !isSo { add(fault()) }
  }
}

extension DocumentStore {
  /// Checks that all that is kept of the documents agrees: records, feed, bodies, indexes, counters, blobs to the last byte; then the store.
  ///
  /// Reads and writes go on meanwhile. O(size of the live data).
  ///
  /// - Parameter progress: of the store's part.
  /// - Returns: every fault; faults do not throw.
  package func verify(
    progress: ((VerifyProgress) -> Void)? = nil
  ) throws(DocumentError) -> DocumentVerifyReport {
    let core = try opened()
    return try DocumentError.typed {
      let snapshot = try core.store.snapshot()
      defer { snapshot.close() }
      var check = DatabaseCheck(core, snapshot)
      try check.run()
      check.report.store = try core.store.verify(progress: progress)
      return check.report
    }
  }
}

/// One verification: of the database as a whole. Collections are ``CollectionCheck``.
struct DatabaseCheck {
  let core: DocumentCore
  let snapshot: Snapshot
  let shared: DatabaseSpaces
  var report = DocumentVerifyReport()

  init(_ core: DocumentCore, _ snapshot: Snapshot) {
    self.core = core
    self.snapshot = snapshot
    shared = core.shared.withLock { $0 }
  }

  mutating func run() throws {
    for name in try core.collectionNames(in: snapshot) {
      let missing = try CollectionSpaces.names.filter {
        try snapshot.existingKeyspace("\($0)/\(name)") == nil
      }
      guard missing.isEmpty else {
        report.add("the collection \(name) lacks \(missing.joined(separator: ", "))")
        continue
      }
      let spaces = try CollectionSpaces(name) { (keyspace) throws(StoreError) in
        try snapshot.existingKeyspace(keyspace) ?? shared.database
      }
      var check = CollectionCheck(name, spaces, snapshot, shared, report)
      try check.run()
      report = check.report
    }
    try checkBlobs()
  }

  private mutating func checkBlobs() throws {
    var records: [(digest: BlobDigest, record: BlobRecord)] = []
    var numbers: Set<UInt64> = []
    try snapshot.forEach(in: shared.blobs) { key, value in
      guard let digest = key.withUnsafeBytes({ BlobDigest($0) }) else {
        report.add("a blob has a name of \(key.byteCount) bytes")
        return true
      }
      do throws(DocumentError) {
        let record = try value.reading { (bytes) throws(DocumentError) in try BlobRecord(bytes) }
        records.append((digest, record))
        report.require(numbers.insert(record.number).inserted, "two blobs share the number \(record.number)")
      } catch { report.add("the blob \(digest): \(error.message)") }
      return true
    }
    var chunks: UInt64 = 0
    for (digest, record) in records {
      chunks += record.chunkCount
      try check(digest, record)
    }
    report.blobs = records.count
    // What uploads have left is the sweep's.
    try snapshot.forEach(in: shared.database, .prefix(DatabaseFacts.uploadPrefix)) { key, _ in
      let text = key.withUnsafeBytes {
        String(decoding: $0.dropFirst(DatabaseFacts.uploadPrefix.utf8.count), as: UTF8.self)
      }
      guard let number = UInt64(text) else { return true }
      chunks += UInt64(try snapshot.count(in: shared.chunks, .prefix(SequenceEntry.key(number))))
      return true
    }
    let count = try snapshot.count(in: shared.chunks)
    report.require(chunks == UInt64(count), "there are \(count) chunks of blobs, and \(chunks) are wanted")
  }

  private mutating func check(_ digest: BlobDigest, _ record: BlobRecord) throws {
    var hash = SHA256()
    var length: UInt64 = 0
    try snapshot.forEach(in: shared.chunks, .prefix(SequenceEntry.key(record.number))) { _, value in
      value.withUnsafeBytes { hash.update($0) }
      length += UInt64(value.byteCount)
      return true
    }
    report.require(
      length == record.length, "the blob \(digest) has \(length) bytes instead of \(record.length)")
    report.require(BlobDigest(&hash) == digest, "the blob \(digest) has other bytes than its name says")
  }
}
