import LatewoodCrypto
import LatewoodStore

/// The result of ``DocumentStore/verify(deep:includesStore:progress:)``.
package struct DocumentVerification: Sendable {
  /// The maximum number of faults to collect.
  static let faultLimit = 10_000

  package internal(set) var faults: [DatabaseFault] = []
  package internal(set) var documents = 0
  package internal(set) var bodies = 0
  /// The number of blobs whose content is in this database.
  package internal(set) var blobs = 0
  /// The number of blobs that bodies refer to and whose content is not in this database. A missing
  /// blob is not a fault.
  package internal(set) var missingBlobs = 0
  /// The report of the store; nil if it was not verified.
  package internal(set) var store: VerifyReport?

  package var isSound: Bool { faults.isEmpty && store?.isSound != false }

  mutating func add(_ fault: DatabaseFault) {
    if faults.count < DocumentVerification.faultLimit { faults.append(fault) }
  }

  mutating func require(_ isSo: Bool, _ fault: @autoclosure () -> DatabaseFault) {
    if !isSo { add(fault()) }
  }
}

extension DocumentStore {
  /// Checks that all records of the documents agree: records, feed, bodies, indexes, counters,
  /// blobs to the last byte; then verifies the store.
  ///
  /// Reads and writes continue during the verification. O(size of the live data).
  ///
  /// - Parameters:
  ///   - deep: whether to decode every body as Fleece and compare its blobs with the blobs that are
  ///     listed for it, to follow every entry of the feed back to its document, and to examine
  ///     every chunk individually.
  ///   - includesStore: false if the store has already been verified.
  ///   - progress: called with the progress of the store's part.
  /// - Returns: a report of all faults; faults are not thrown.
  package func verify(
    deep: Bool = false, includesStore: Bool = true, progress: ((VerifyProgress) -> Void)? = nil
  ) throws(DatabaseError) -> DocumentVerification {
    let core = try openedForReading()
    return try DatabaseError.typed {
      let snapshot = try core.store.snapshot()
      defer { snapshot.close() }
      var check = DatabaseCheck(core, snapshot, isDeep: deep)
      try check.run()
      if includesStore { check.report.store = try core.store.verify(progress: progress) }
      return check.report
    }
  }
}

/// The verification of the database as a whole. ``CollectionCheck`` checks each collection.
struct DatabaseCheck {
  let core: DocumentCore
  let snapshot: Snapshot
  let shared: DatabaseSpaces
  let isDeep: Bool
  var report = DocumentVerification()

  init(_ core: DocumentCore, _ snapshot: Snapshot, isDeep: Bool) {
    self.core = core
    self.snapshot = snapshot
    self.isDeep = isDeep
    shared = core.shared
  }

  mutating func run() throws {
    var deepest: UInt64?
    do throws(DatabaseError) {
      deepest = try DatabaseRecords.number(DatabaseRecords.deepestKey, in: shared, snapshot)
    } catch { report.add(DatabaseFault(error)) }
    for name in try core.collectionNames(in: snapshot) {
      let missing = try CollectionSpaces.names.filter {
        try snapshot.existingKeyspace("\($0)/\(name)") == nil
      }
      guard missing.isEmpty else {
        report.add(DatabaseFault("it lacks \(missing.joined(separator: ", "))", collection: name))
        continue
      }
      let spaces = try CollectionSpaces(name) { keyspace in
        try snapshot.existingKeyspace(keyspace) ?? shared.database
      }
      var check = CollectionCheck(name, spaces, snapshot, shared, report)
      if isDeep { check.deepest = Int(clamping: deepest ?? .max) }
      try checkPart(collection: name) { database in
        defer { database.report = check.report }
        try check.run()
      }
    }
    try checkPart { try $0.checkBlobs() }
  }

  /// Checks a part of the database. Damage that ends the check of this part counts as a fault, and
  /// the other parts are still checked. Any other error is thrown.
  private mutating func checkPart(
    collection: String? = nil, blob: BlobDigest? = nil, _ check: (inout DatabaseCheck) throws -> Void
  ) throws {
    do { try check(&self) } catch {
      let error = DatabaseError.from(error)
      guard error.code == .corruptData || error.code == .corruptRevisionData else { throw error }
      report.add(DatabaseFault(error, collection: collection, blob: blob))
    }
  }

  private mutating func checkBlobs() throws {
    var records: [(digest: BlobDigest, record: BlobRecord)] = []
    /// The number of chunks that each blob number may have.
    var wanted: [UInt64: UInt64] = [:]
    try snapshot.forEach(in: shared.blobs) { key, value in
      guard let digest = key.withUnsafeBytes({ BlobDigest($0) }) else {
        report.add(DatabaseFault("a blob has a name of \(key.byteCount) bytes"))
        return true
      }
      do throws(DatabaseError) {
        let record = try value.reading { (bytes) throws(DatabaseError) in try BlobRecord(stored: bytes) }
        guard let record else {
          report.missingBlobs += 1
          return true
        }
        records.append((digest, record))
        let isFirst = wanted.updateValue(record.chunkCount, forKey: record.number) == nil
        report.require(
          isFirst, DatabaseFault("it shares the number \(record.number) with another blob", blob: digest))
      } catch { report.add(DatabaseFault(error, blob: digest)) }
      return true
    }
    var chunks: UInt64 = 0
    for (digest, record) in records {
      chunks += record.chunkCount
      try checkPart(blob: digest) { try $0.check(digest, record) }
    }
    report.blobs = records.count
    // Unfinished uploads are left to the sweep.
    try snapshot.forEach(in: shared.database, .prefix(DatabaseRecords.uploadPrefix)) { key, _ in
      let text = key.withUnsafeBytes {
        String(decoding: $0.dropFirst(DatabaseRecords.uploadPrefix.utf8.count), as: UTF8.self)
      }
      guard let number = UInt64(text) else { return true }
      wanted[number] = .max
      chunks += UInt64(try snapshot.count(in: shared.chunks, .prefix(SequenceEntry.key(number))))
      return true
    }
    let count = try snapshot.count(in: shared.chunks)
    report.require(
      chunks == UInt64(count), DatabaseFault("there are \(count) chunks of blobs, and \(chunks) are wanted"))
    if isDeep || chunks != UInt64(count) { try checkChunks(wanted) }
  }

  /// Reports each chunk that belongs neither to a blob nor to an upload.
  private mutating func checkChunks(_ wanted: [UInt64: UInt64]) throws {
    let cursor = try snapshot.cursor(in: shared.chunks, .all)
    while try cursor.next() {
      let key = try cursor.key()
      guard key.count == 12 else {
        report.add(DatabaseFault("a chunk has a key of \(key.count) bytes"))
        continue
      }
      let number = key[..<8].reduce(0) { $0 << 8 | UInt64($1) }
      let place = key[8...].reduce(0) { $0 << 8 | UInt64($1) }
      report.require(
        place < wanted[number] ?? 0,
        DatabaseFault("chunk \(place) of the number \(number) belongs to no blob"))
    }
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
      length == record.length,
      DatabaseFault("it has \(length) bytes instead of \(record.length)", blob: digest))
    report.require(
      BlobDigest(hash) == digest, DatabaseFault("its content does not match its digest", blob: digest))
  }
}
