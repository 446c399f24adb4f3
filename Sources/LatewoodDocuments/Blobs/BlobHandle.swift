import LatewoodConcurrency
import LatewoodCrypto
import LatewoodStore

/// A handle that keeps a blob in an open database, whether or not a document refers to it.
///
/// Reading the whole blob, in one call or in pieces, checks its bytes against the digest. Reading a
/// range does not, because that would mean reading the rest as well. (The store checks a checksum
/// of each chunk on every read.) A blob that a batch has written can be read within that batch
/// only, until it is committed; if the batch fails, reading throws `notFound`.
///
/// Thread safety: all calls from any thread.
package final class BlobHandle: Sendable {
  package let digest: BlobDigest
  /// The record with which the chunks were last found.
  private let record: Guarded<BlobRecord>
  /// The length in bytes.
  package let length: UInt64
  private let core: DocumentCore
  private let spaces: DatabaseSpaces

  /// Takes over an existing pin of the blob, and releases it when deinitialized.
  init(_ digest: BlobDigest, _ record: BlobRecord, _ core: DocumentCore, _ spaces: DatabaseSpaces) {
    self.digest = digest
    self.record = Guarded(record)
    length = record.length
    self.core = core
    self.spaces = spaces
  }

  deinit { core.pins.unpin(digest) }

  /// Returns the bytes of a range, or as much of it as exists; uses memory only for those bytes. If
  /// the range covers the whole blob and its bytes do not match the digest, throws `corruptData`.
  package func read(_ range: Range<UInt64>) throws(DatabaseError) -> [UInt8] {
    let range = range.clamped(to: 0..<length)
    var bytes: [UInt8] = []
    // At most a chunk, because the length in the file is unverified.
    bytes.reserveCapacity(
      Int(clamping: min(range.upperBound - range.lowerBound, UInt64(BlobRecord.chunkLength))))
    try DatabaseError.typed {
      try forEachPiece(of: range) { piece in
        piece.withUnsafeBytes { bytes.append(contentsOf: $0) }
        return true
      }
    }
    if range == 0..<length {
      var hash = SHA256()
      bytes.withUnsafeBytes { hash.update($0) }
      try check(hash)
    }
    return bytes
  }

  /// Returns all bytes.
  package func read() throws(DatabaseError) -> [UInt8] { try read(0..<length) }

  /// Calls a closure with the bytes of a range, without copying them, up to a mebibyte at a time,
  /// until it returns false.
  package func forEachPiece(of range: Range<UInt64>, _ body: (RawSpan) throws -> Bool) throws {
    let range = range.clamped(to: 0..<length)
    let chunkLength = UInt64(BlobRecord.chunkLength)
    var at = range.lowerBound
    while at < range.upperBound {
      let chunk = at / chunkLength
      let start = Int(at - chunk * chunkLength)
      let end = Int(min(range.upperBound - chunk * chunkLength, chunkLength))
      let goesOn = try withChunk(chunk) { value in
        guard value.byteCount == Int(min(length - chunk * chunkLength, chunkLength)) else {
          throw DatabaseError(.corruptData, "chunk \(chunk) of the blob \(digest) has an unexpected length")
        }
        return try body(value.extracting(start..<end))
      }
      if !goesOn { return }
      at = chunk * chunkLength + UInt64(end)
    }
  }

  /// Calls a closure with all bytes, a piece at a time, until it returns false. Throws after the
  /// last piece if the bytes do not match the digest.
  package func forEachVerifiedPiece(_ body: (RawSpan) throws -> Bool) throws {
    var hash = SHA256()
    var isComplete = true
    try forEachPiece(of: 0..<length) { piece in
      piece.withUnsafeBytes { hash.update($0) }
      isComplete = try body(piece)
      return isComplete
    }
    if isComplete { try check(hash) }
  }

  /// Like `forEachVerifiedPiece`, but with copies, so that the closure may write to the database
  /// even if that is inside a batch.
  package func forEachVerifiedCopy(_ body: ([UInt8]) throws -> Bool) throws {
    var pieces = BlobReader(self)
    while let piece = try pieces.next() {
      guard try body(piece) else { return }
    }
  }

  fileprivate func check(_ hash: SHA256) throws(DatabaseError) {
    guard BlobDigest(hash) == digest else {
      throw DatabaseError(.corruptData, "the content of the blob \(digest) does not match its digest")
    }
  }

  private func withChunk<R>(_ chunk: UInt64, _ body: (RawSpan) throws -> R) throws -> R {
    let known = record.withLock { $0 }
    if let result = try core.source().withValue(
      BlobRecord.chunkKey(known.number, chunk), in: spaces.chunks, body)
    {
      return result
    }
    let source = try core.source()
    guard let fresh = try core.blobRecord(digest, spaces, source) else {
      throw DatabaseError(.notFound, "the batch that wrote the blob \(digest) has failed")
    }
    // A sweep removed the blob, and a writer has just stored it again under a new number.
    if fresh.number != known.number {
      record.withLock { $0 = fresh }
      let key = BlobRecord.chunkKey(fresh.number, chunk)
      if let result = try source.withValue(key, in: spaces.chunks, body) { return result }
    }
    throw DatabaseError(.corruptData, "chunk \(chunk) of the blob \(digest) is missing")
  }
}

/// A position in the bytes of a blob, which it returns a piece at a time.
package struct BlobReader: Sendable {
  private let handle: BlobHandle
  private var hash = SHA256()
  private var at: UInt64 = 0

  package init(_ handle: BlobHandle) { self.handle = handle }

  /// Returns the next piece, up to a mebibyte; nil after the last. Throws instead of returning nil
  /// if the bytes do not match the digest.
  package mutating func next() throws(DatabaseError) -> [UInt8]? {
    guard at < handle.length else {
      try handle.check(hash)
      return nil
    }
    let end = min(handle.length, at + UInt64(BlobRecord.chunkLength))
    let piece = try handle.read(at..<end)
    piece.withUnsafeBytes { hash.update($0) }
    at = end
    return piece
  }
}

extension DocumentStore {
  /// Returns the blob of a digest; nil if its content is not in this database, whether or not a
  /// document refers to it.
  package func blob(_ digest: BlobDigest) throws(DatabaseError) -> BlobHandle? {
    let core = try openedForReading()
    guard core.pins.pin(digest) else { return nil }
    do throws(DatabaseError) {
      let spaces = core.shared
      guard let record = try core.blobRecord(digest, spaces, try core.source()) else {
        core.pins.unpin(digest)
        return nil
      }
      return BlobHandle(digest, record, core, spaces)
    } catch {
      core.pins.unpin(digest)
      throw error
    }
  }

  /// Begins a blob that is written in pieces. Each piece is written to the file immediately.
  package func makeBlobWriter() throws(DatabaseError) -> BlobWriter { try BlobWriter(openedForWriting()) }

  /// Stores a blob; equal content is stored only once.
  package func putBlob(_ content: [UInt8]) throws(DatabaseError) -> BlobHandle {
    let writer = try makeBlobWriter()
    try content.withUnsafeBytes { bytes in Result { () throws(DatabaseError) in try writer.write(bytes) } }
      .get()
    return try writer.finish()
  }
}

extension DocumentCore {
  /// Returns the record that locates the content of a blob; nil if the content is not in this
  /// database.
  func blobRecord(
    _ digest: BlobDigest, _ spaces: DatabaseSpaces, _ source: some Readable
  ) throws(DatabaseError) -> BlobRecord? {
    try source.mapValue(digest.bytes, in: spaces.blobs) { value in
      try value.reading { (bytes) throws(DatabaseError) in try BlobRecord(stored: bytes) }
    }.flatMap(\.self)
  }
}
