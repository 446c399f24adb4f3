import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

@Suite struct BlobTests {
  @Test func `SHA-256 matches the digests of FIPS 180-4`() {
    let examples = [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
      (
        String(repeating: "a", count: 1_000_000),
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
      ),
    ]
    for (text, digest) in examples { #expect(BlobDigest(of: bytes(text)).description == digest) }
  }

  @Test func `a blob is streamed in and read back by ranges`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    let store = try DocumentStore.inMemory()
    let content = random.bytes(3 << 20 | 12345)
    let writer = try store.makeBlobWriter()
    var at = 0
    while at < content.count {
      let end = min(content.count, at + random.below(700_000))
      try content[at..<end].withUnsafeBytes { try writer.write($0) }
      at = end
    }
    let blob = try writer.finish()
    #expect(blob.digest == BlobDigest(of: content) && blob.length == UInt64(content.count))
    #expect(try blob.read() == content)
    for _ in 0..<50 {
      let start = random.below(content.count)
      let end = min(content.count, start + random.below(2 << 20))
      #expect(try blob.read(UInt64(start)..<UInt64(end)) == Array(content[start..<end]), "\(random.replay)")
    }
    #expect(try blob.read(UInt64(content.count)..<UInt64.max) == [])
    try store.expectSound()
  }

  @Test func `equal bytes are stored once, and removed when no document needs them`() throws {
    let store = try DocumentStore.inMemory()
    let content = [UInt8](repeating: 7, count: 100_000)
    var first: BlobHandle? = try store.putBlob(content)
    let digest = try #require(first?.digest)
    var second: BlobHandle? = try store.putBlob(content)
    #expect(second?.digest == digest)
    #expect(try store.verify().blobs == 1)
    #expect(try store.sweep().blobs == 0, "pinned by handles")
    let saved = try store.save("a", "with", blobs: [digest])
    first = nil
    second = nil
    #expect(try store.sweep().blobs == 0, "used by a document")
    try store.expectSound()
    try store.save("a", "without", over: saved.revision)
    #expect(try store.blob(digest)?.read() == content)
    #expect(try store.sweep() == SweepReport(bodies: 1, blobs: 1, uploads: 0))
    #expect(try store.blob(digest) == nil)
    try store.expectSound()
    withExtendedLifetime((first, second)) {}
  }

  @Test func `blobs in use stay intact while others come, go and are swept`() throws {
    let store = try DocumentStore.inMemory()
    inParallel(4) { thread in
      for number in 0..<60 {
        if thread == 0 {
          try store.sweep()
          continue
        }
        let content = [UInt8](repeating: UInt8(number % 3), count: 5000)
        let blob = try store.putBlob(content)
        guard try blob.read() == content, let again = try store.blob(blob.digest), try again.read() == content
        else { throw OnPurpose() }
        try store.save("\(thread) \(number)", "x", blobs: [blob.digest])
        let documents = try store.defaultCollection()
        try store.write { _ = try $0.purge("\(thread) \(number)", in: documents) }
      }
    }
    #expect(try store.sweep().bodies == 0)
    let report = try store.verify()
    #expect(report.faults == [] && report.blobs == 0)
  }

  @Test func `a blob can be empty`() throws {
    let store = try DocumentStore.inMemory()
    let blob = try store.putBlob([])
    #expect(blob.length == 0)
    #expect(try blob.read() == [])
    try store.save("a", "empty", blobs: [blob.digest])
    try store.expectSound()
  }

  @Test func `an abandoned upload is swept`() throws {
    let store = try DocumentStore.inMemory()
    do {
      let writer = try store.makeBlobWriter()
      try [UInt8](repeating: 1, count: 2 << 20).withUnsafeBytes { try writer.write($0) }
      #expect(try store.sweep().uploads == 0, "still being written")
    }
    _ = try store.makeBlobWriter()
    #expect(try store.sweep().uploads == 1)
    let report = try store.verify()
    #expect(report.isSound && report.blobs == 0)
  }

  @Test func `a blob that contradicts its record or its digest is damage, and costs no memory`() throws {
    let store = try DocumentStore.inMemory()
    let content = [UInt8](repeating: 7, count: 2 << 20)
    let digest = try store.putBlob(content).digest
    try store.save("document", "body", blobs: [digest])
    let blobs = try store.store.keyspace("blobs")
    let chunks = try store.store.keyspace("chunks")
    let record = try #require(try store.store.get(digest.bytes, in: blobs))
    // Now it claims more bytes than any disk has.
    try store.store.put(
      digest.bytes, Array(record[..<8]) + [0x3F] + [UInt8](repeating: 0, count: 7), in: blobs)
    refusal(.corruptData) { _ = try store.blob(digest)?.read() }
    try store.store.put(digest.bytes, record, in: blobs)
    let first = Array(record[..<8]) + [0, 0, 0, 0]
    let second = Array(record[..<8]) + [0, 0, 0, 1]
    for (key, chunk) in [(first, content.dropLast((1 << 20) + 1)), (second, content.dropLast(1 << 20) + [7])]
    {
      try store.store.put(key, Array(chunk), in: chunks)
      refusal(.corruptData) { _ = try store.blob(digest)?.read() }
      try store.store.put(key, Array(content[..<(1 << 20)]), in: chunks)
    }
    #expect(try store.blob(digest)?.read() == content)
    try store.store.put(second, [UInt8](repeating: 8, count: 1 << 20), in: chunks)
    refusal(.corruptData) { try store.blob(digest)?.forEachVerifiedPiece { _ in true } }
    try store.store.delete(second, in: chunks)
    refusal(.corruptData) { _ = try store.blob(digest)?.read() }
    try store.store.put(second, Array(content[..<(1 << 20)]), in: chunks)
    try store.expectSound()
  }
}
