import LatewoodDocuments
import LatewoodStore
import LatewoodTestSupport
import Testing

/// Writers of blobs that outlive the batch in which they were created or used.
@Suite struct BlobWriterTests {
  private let store: DocumentStore
  private let mine = [UInt8](repeating: 1, count: 2 << 20 | 5)
  private let other = [UInt8](repeating: 2, count: 3 << 20)

  init() throws { store = try DocumentStore.inMemory() }

  private func write(_ bytes: [UInt8], to writer: BlobWriter) throws {
    try bytes.withUnsafeBytes { bytes in Result { () throws(DatabaseError) in try writer.write(bytes) } }
      .get()
  }

  @Test func `a writer whose batch failed touches no other blob`() throws {
    var stray: BlobWriter?
    #expect(throws: OnPurpose.self) {
      try store.write { _ in
        stray = try store.makeBlobWriter()
        throw OnPurpose()
      }
    }
    let good = try store.makeBlobWriter()
    try write(other, to: good)
    refusal(.notFound) { try write(mine, to: #require(stray)) }
    let blob = try good.finish()
    refusal(.notFound) { _ = try stray?.finish() }
    stray = nil
    #expect(try blob.read() == other)
    try store.save("a", "with", blobs: [blob.digest])
    try store.sweep()
    #expect(try blob.read() == other)
    try store.expectSound()
  }

  @Test func `a writer used in a failed batch throws, and leaves no chunks`() throws {
    for isLast in [false, true] {
      let writer = try store.makeBlobWriter()
      try write(mine, to: writer)
      #expect(throws: OnPurpose.self) {
        try store.write { _ in
          try write(mine, to: writer)
          throw OnPurpose()
        }
      }
      refusal(.notFound) {
        if !isLast { try write(mine, to: writer) }
        _ = try writer.finish()
      }
    }
    try store.sweep()
    let report = try store.verify()
    #expect(report.isSound && report.blobs == 0)
  }

  @Test func `a writer finished in a failed batch leaves no blob`() throws {
    let writer = try store.makeBlobWriter()
    try write(mine, to: writer)
    var lost: BlobHandle?
    #expect(throws: OnPurpose.self) {
      try store.write { _ in
        let blob = try writer.finish()
        #expect(try blob.read() == mine)
        #expect(try store.blob(blob.digest)?.read() == mine)
        try store.save("a", "with", blobs: [blob.digest])
        lost = blob
        throw OnPurpose()
      }
    }
    let digest = try #require(lost?.digest)
    #expect(try store.blob(digest) == nil)
    refusal(.invalidParameter) { _ = try writer.finish() }
    lost = nil
    try store.sweep()
    let report = try store.verify()
    #expect(report.isSound && report.blobs == 0)
    #expect(try store.store.count(in: store.store.keyspace("chunks")) == 0)
  }

  @Test func `reading a whole blob verifies its digest`() throws {
    let digest = try store.putBlob(mine).digest
    try store.save("a", "with", blobs: [digest])
    let record = try #require(try store.store.get(digest.bytes, in: store.store.keyspace("blobs")))
    let key = Array(record[..<8]) + [0, 0, 0, 1]
    try store.store.put(key, [UInt8](repeating: 9, count: 1 << 20), in: store.store.keyspace("chunks"))
    let blob = try #require(try store.blob(digest))
    refusal(.corruptData) { _ = try blob.read() }
    refusal(.corruptData) { _ = try blob.read(0..<UInt64.max) }
    refusal(.corruptData) { try blob.forEachVerifiedPiece { _ in true } }
    var read = 0
    refusal(.corruptData) {
      try blob.forEachVerifiedCopy { piece in
        read += piece.count
        return true
      }
    }
    #expect(UInt64(read) == blob.length, "all is read before it is compared")
    var pieces = BlobReader(blob)
    while read > 0 { read -= try pieces.next()?.count ?? 0 }
    refusal(.corruptData) { _ = try pieces.next() }
  }
}
