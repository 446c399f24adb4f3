import LatewoodStore

/// The number of records that a sweep has removed.
package struct SweepReport: Sendable, Equatable {
  /// Bodies of revisions that are not leaves.
  package var bodies = 0
  package var blobs = 0
  /// Blobs that were never finished.
  package var uploads = 0

  package init(bodies: Int = 0, blobs: Int = 0, uploads: Int = 0) {
    self.bodies = bodies
    self.blobs = blobs
    self.uploads = uploads
  }
}

/// Removes garbage: superseded bodies, then blobs that no body refers to and no handle pins.
///
/// The sweep uses ordinary transactions of bounded size, so that readers and writers continue and
/// there are no races. The next compaction frees the space. Bodies that are superseded while it
/// runs may be left to the next sweep, and those that a merge with another database may need are
/// kept: see `ancestorBodies`.
extension DocumentCore {
  /// The number of records in one transaction.
  static let sweepSize = 1000

  /// - Parameter check: called before each transaction. If it throws, the sweep ends without
  ///   undoing completed transactions.
  @discardableResult
  func sweep(
    check: () throws(DatabaseError) -> Void = { () throws(DatabaseError) in }
  ) throws(DatabaseError) -> SweepReport {
    try refuseInBatch("a sweep")
    return try sweeping.withLock { () throws(DatabaseError) in
      var report = SweepReport()
      let names = try collectionNames(in: store)
      try prune(names, check)
      for name in names {
        guard let collection = try collection(name) else { continue }
        do throws(DatabaseError) {
          report.bodies += try sweepBodies(collection, check)
        } catch {
          // The collection was dropped in the meantime, along with everything to sweep.
          if error.code != .notFound { throw error }
        }
      }
      report.blobs = try sweepBlobs(check)
      report.uploads = try sweepUploads()
      return report
    }
  }

  private func sweepBodies(
    _ collection: CollectionHandle, _ check: () throws(DatabaseError) -> Void
  ) throws(DatabaseError) -> Int {
    if let count = try sweepBodies(exceptAncestorsOf: collection, check) { return count }
    var count = 0
    var next = KeyRange.all
    while true {
      try check()
      let keys = try batch(.relaxed) { batch in
        let part = try batch.part(for: collection)
        // Each batch begins after the keys deleted by earlier ones: skipping these again would take
        // longer than everything else.
        let keys = try batch.keys(in: part.spaces.superseded, next, DocumentCore.sweepSize)
        for key in keys {
          let place = try key.withUnsafeBytes { bytes in
            Result { () throws(DatabaseError) in try SequenceEntry.sequence(ofKey: bytes) }
          }.get()
          try Bodies(batch, part).remove(place)
        }
        return keys
      }
      count += keys.count
      guard keys.count == DocumentCore.sweepSize, let last = keys.last else { return count }
      next = KeyRange(lower: .excluded(last))
    }
  }

  /// Removes the superseded bodies that no merge with another database may need.
  ///
  /// - Returns: nil if no other database is known.
  private func sweepBodies(
    exceptAncestorsOf collection: CollectionHandle, _ check: () throws(DatabaseError) -> Void
  ) throws(DatabaseError) -> Int? {
    // Bodies that are superseded after this state are left to the next sweep. No other body can
    // become the nearest known ancestor of a leaf later.
    let found = try DatabaseError.typed { () -> (doomed: [UInt64], kept: Int)? in
      let state = try store.held()
      let spaces = try collection.spaces
      guard let needed = try state.ancestorBodies(spaces) else { return nil }
      let old = try OldBodies(in: spaces.superseded, state).places
      let doomed = old.filter { !needed.contains($0) }
      return (doomed, old.count - doomed.count)
    }
    guard let found else {
      keptBodies.withLock { $0[collection.name] = nil }
      return nil
    }
    for start in stride(from: 0, to: found.doomed.count, by: DocumentCore.sweepSize) {
      try check()
      let step = found.doomed[start..<min(start + DocumentCore.sweepSize, found.doomed.count)]
      try batch(.relaxed) { batch in
        let part = try batch.part(for: collection)
        for place in step { try Bodies(batch, part).remove(place) }
      }
    }
    keptBodies.withLock { $0[collection.name] = UInt64(found.kept) }
    return found.doomed.count
  }

  private func sweepBlobs(_ check: () throws(DatabaseError) -> Void) throws(DatabaseError) -> Int {
    var count = 0
    var next = KeyRange.all
    while true {
      try check()
      var doomed: [BlobDigest] = []
      defer { pins.spare(doomed) }
      var removed = 0
      let seen = try batch(.relaxed) { (batch) -> [[UInt8]] in
        let keys = try batch.keys(in: batch.shared.blobs, next, DocumentCore.sweepSize)
        let unused = try batch.unused(keys.compactMap { BlobDigest($0) })
        doomed = pins.doom(unused)
        removed = 0
        for digest in doomed where try batch.removeBlob(digest) { removed += 1 }
        return keys
      }
      count += removed
      guard seen.count == DocumentCore.sweepSize, let last = seen.last else { return count }
      next = KeyRange(lower: .excluded(last))
    }
  }

  private func sweepUploads() throws(DatabaseError) -> Int {
    try batch(.relaxed) { batch in
      var count = 0
      let prefix = DatabaseRecords.uploadPrefix
      for key in try batch.keys(in: batch.shared.database, .prefix(prefix), .max) {
        let text = String(decoding: key.dropFirst(prefix.utf8.count), as: UTF8.self)
        guard let number = UInt64(text), !pins.isActive(number) else { continue }
        try batch.dropUpload(number)
        count += 1
      }
      return count
    }
  }
}

extension DocumentBatch {
  func keys(
    in keyspace: Keyspace, _ range: KeyRange, _ limit: Int
  ) throws(DatabaseError) -> [[UInt8]] {
    var keys: [[UInt8]] = []
    try transaction.visit(in: keyspace, range) { key, _ in
      keys.append(key.withUnsafeBytes { Array($0) })
      return keys.count < limit
    }
    return keys
  }

  /// Returns the blobs without a reference from a body of any collection.
  func unused(_ digests: [BlobDigest]) throws -> [BlobDigest] {
    var rest = digests
    for name in try core.collectionNames(in: transaction) {
      guard let uses = try collection(name)?.spaces.uses else { continue }
      var unused: [BlobDigest] = []
      for digest in rest where try transaction.first(in: uses, .prefix(digest.bytes)) == nil {
        unused.append(digest)
      }
      rest = unused
    }
    return rest
  }

  /// Removes a blob and returns true, or removes an empty record and returns false. Bodies leave an
  /// empty record if the content of a blob never arrived.
  func removeBlob(_ digest: BlobDigest) throws -> Bool {
    let record = try core.blobRecord(digest, shared, transaction)
    noteRemoval()
    if let record {
      try transaction.deleteRange(.prefix(SequenceEntry.key(record.number)), in: shared.chunks)
    }
    try transaction.delete(digest.bytes, in: shared.blobs)
    return record != nil
  }
}
