import LatewoodCrypto
import LatewoodStore

/// Writes a blob. Its digest is known only at the end, so its chunks are stored under a number.
///
/// Each mebibyte is a separate, unsynced transaction: the document that refers to the blob is later
/// in the log, so its commit makes the blob durable too. An unfinished blob is removed with the
/// writer, or by the next sweep.
///
/// A blob that is written in a batch is part of the batch, and fails with it: the next call that
/// puts bytes into the file throws `notFound`. After an error every further call throws the same
/// error.
///
/// Thread safety: one thread at a time.
package final class BlobWriter {
  private let core: DocumentCore
  private let spaces: DatabaseSpaces
  private let number: UInt64
  private var hash = SHA256()
  private var pending: [UInt8] = []
  private var length: UInt64 = 0
  private var chunk: UInt64 = 0
  private var isFinished = false
  /// The first failure, after which bytes are missing.
  private var failure: DatabaseError?

  init(_ core: DocumentCore) throws(DatabaseError) {
    self.core = core
    let spaces = core.shared
    self.spaces = spaces
    var begun: UInt64?
    do throws(DatabaseError) {
      number = try core.batch(.relaxed) { batch in
        let key = DatabaseRecords.blobNumberKey
        let stored = try DatabaseRecords.number(key, in: spaces, batch.transaction) ?? 0
        let number = core.pins.beginUpload(after: stored)
        begun = number
        try batch.putRecord(key, DatabaseRecords.encoded(number))
        try batch.putRecord(DatabaseRecords.uploadPrefix + String(number), [])
        return number
      }
    } catch {
      if let begun { core.pins.ended(begun) }
      throw error
    }
  }

  deinit {
    core.pins.ended(number)
    // If this fails, the next sweep removes the blob: its failure must not affect an unrelated
    // batch.
    if core.currentBatch == nil, !isFinished, chunk > 0 {
      do throws(DatabaseError) { try discard() } catch {}
    }
  }

  /// Appends bytes.
  package func write(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
    try checkUse()
    hash.update(bytes)
    length += UInt64(bytes.count)
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = rest.prefix(BlobRecord.chunkLength - pending.count)
      pending.append(contentsOf: part)
      rest = rest.dropFirst(part.count)
      if pending.count == BlobRecord.chunkLength { try flush() }
    }
  }

  private func checkUse() throws(DatabaseError) {
    if isFinished { throw DatabaseError(.invalidParameter, "the blob is finished") }
    if let failure { throw failure }
  }

  private func flush() throws(DatabaseError) {
    do throws(DatabaseError) { try putChunk() } catch {
      failure = error
      throw error
    }
  }

  private func putChunk() throws(DatabaseError) {
    guard chunk < 1 << 32 else { throw DatabaseError(.invalidParameter, "a blob has at most 4 PiB") }
    let key = BlobRecord.chunkKey(number, chunk)
    try core.batch(.relaxed) { batch in
      try batch.checkUpload(number, chunks: chunk)
      batch.changeCount += 1
      try batch.transaction.put(key, pending, in: spaces.chunks)
    }
    chunk += 1
    pending.removeAll(keepingCapacity: true)
  }

  /// Finishes the blob and returns its handle. If the database already has the same bytes, the new
  /// ones are dropped.
  package func finish() throws(DatabaseError) -> BlobHandle {
    try checkUse()
    if !pending.isEmpty { try flush() }
    isFinished = true
    let chunks = chunk
    let digest = BlobDigest(hash)
    let record = BlobRecord(number: number, length: length)
    var isPinned = false
    do throws(DatabaseError) {
      let kept = try core.batch(.relaxed) { batch in
        try batch.checkUpload(number, chunks: chunks)
        core.pins.pinWritten(digest)
        isPinned = true
        try batch.putBlob(digest, record)
        return try core.blobRecord(digest, spaces, batch.transaction) ?? record
      }
      core.pins.ended(number)
      return BlobHandle(digest, kept, core, spaces)
    } catch {
      if isPinned { core.pins.unpin(digest) }
      throw error
    }
  }

  private func discard() throws(DatabaseError) {
    try core.batch(.relaxed) { batch in try batch.dropUpload(number) }
  }
}

extension DocumentBatch {
  /// Throws if an upload, or the last of its chunks, was part of a batch that has failed.
  func checkUpload(_ number: UInt64, chunks: UInt64) throws {
    guard try transaction.contains(DatabaseRecords.uploadPrefix + String(number), in: shared.database),
      try chunks == 0 || transaction.contains(BlobRecord.chunkKey(number, chunks - 1), in: shared.chunks)
    else {
      throw DatabaseError(
        .notFound, "the batch in which this blob was being written has failed: write it again from the start")
    }
  }

  /// Turns an upload into a blob, unless a blob with the same bytes exists. Bodies that have waited
  /// for the blob then refer to it.
  func putBlob(_ digest: BlobDigest, _ record: BlobRecord) throws {
    let isThere = try core.blobRecord(digest, shared, transaction) != nil
    changeCount += 1
    if isThere {
      try transaction.deleteRange(.prefix(SequenceEntry.key(record.number)), in: shared.chunks)
    } else {
      try transaction.put(digest.bytes, record.encoded, in: shared.blobs)
    }
    try transaction.delete(DatabaseRecords.uploadPrefix + String(record.number), in: shared.database)
  }

  /// Removes the remains of an upload.
  func dropUpload(_ number: UInt64) throws {
    noteRemoval()
    try transaction.deleteRange(.prefix(SequenceEntry.key(number)), in: shared.chunks)
    try transaction.delete(DatabaseRecords.uploadPrefix + String(number), in: shared.database)
  }
}
