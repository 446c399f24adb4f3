import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

/// Bodies that refer to blobs before their content arrives, while sweeps run.
@Suite struct MissingBlobTests {
  private func content(_ number: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(number), count: 700 * number)
  }

  @Test func `any order of saves, arrivals and sweeps leaves just the blobs that bodies refer to`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    let store = try DocumentStore.inMemory()
    let collections = try ["a", "b"].map { try store.createCollection($0) }
    let digests = (0..<6).map { BlobDigest(of: content($0)) }
    /// The blobs that the current body of each document refers to, and those that have arrived and
    /// were not swept.
    var uses: [String: Set<Int>] = [:]
    var here: Set<Int> = []
    var used: Set<Int> { uses.values.reduce(into: []) { $0.formUnion($1) } }
    for step in 0..<600 {
      let collection = random.below(2)
      let id = "\(collection) \(random.below(4))"
      let isLocal = id.hasSuffix("0")
      switch random.below(8) {
      case 0..<3:
        let named = Set((0..<random.below(3)).map { _ in random.below(6) })
        let blobs = named.map { digests[$0] }
        try store.write { writer in
          if isLocal {
            try writer.putLocal(id, in: collections[collection], body: [1], blobs: blobs)
          } else {
            try writer.save(
              id, in: collections[collection], body: bytes("\(step)"), parent: nil, blobs: blobs,
              policy: .lastWriteWins)
          }
        }
        uses[id] = named
      case 3:
        try store.write { writer in
          if isLocal {
            try writer.deleteLocal(id, in: collections[collection])
          } else {
            _ = try writer.purge(id, in: collections[collection])
          }
        }
        uses[id] = nil
      case 4, 5:
        let number = random.below(6)
        _ = try store.putBlob(content(number))
        here.insert(number)
      default:
        try store.sweep()
        here.formIntersection(used)
        let report = try store.verify(includesStore: false)
        #expect(report.faults == [], "\(random.replay)")
        #expect(report.blobs == here.count, "step \(step), \(random.replay)")
        #expect(report.missingBlobs == used.subtracting(here).count, "step \(step), \(random.replay)")
        for number in 0..<6 {
          let found = try store.blob(digests[number])?.read()
          #expect(found == (here.contains(number) ? content(number) : nil), "step \(step), \(random.replay)")
        }
      }
    }
    try store.expectSound(random.replay)
  }

  @Test func `a listed blob reports whether its content is stored`() throws {
    let store = try DocumentStore.inMemory()
    let digest = BlobDigest(of: content(2))
    try store.save("a", "with", blobs: [digest])
    var facts: [BlobInfo] = []
    func list() throws {
      facts = []
      try store.snapshot().forEachBlob { blob in
        facts.append(blob)
        return true
      }
    }
    try list()
    #expect(facts.map(\.length) == [nil] && facts.map(\.references) == [1])
    _ = try store.putBlob(content(2))
    try list()
    #expect(facts.map(\.length) == [1400] && facts.map(\.references) == [1])
    #expect(try store.sweep().blobs == 0)
  }

  @Test func `a blob that never arrived is not counted by a sweep`() throws {
    let store = try DocumentStore.inMemory()
    let documents = try store.defaultCollection()
    try store.save("a", "with", blobs: [BlobDigest(of: content(2))])
    try store.write { _ = try $0.purge("a", in: documents) }
    #expect(try store.sweep() == SweepReport())
    #expect(try store.store.count(in: store.store.keyspace("blobs")) == 0)
  }

  @Test func `a lost blob is a fault, and one that never arrived is not`() throws {
    let store = try DocumentStore.inMemory()
    let digest = BlobDigest(of: content(2))
    try store.save("a", "with", blobs: [digest])
    try store.expectSound()
    let blobs = try store.store.keyspace("blobs")
    try store.store.delete(digest.bytes, in: blobs)
    #expect(try store.verify().faults.contains { $0.blob == digest })
    try store.store.put(digest.bytes, [UInt8](), in: blobs)
    _ = try store.putBlob(content(2))
    try store.expectSound()
    // Its bytes stay, although no record refers to them.
    try store.store.put(digest.bytes, [UInt8](), in: blobs)
    #expect(try !store.verify().isSound)
  }

  @Test func `content may arrive during saves and sweeps, and no body loses a blob`() throws {
    let store = try DocumentStore.inMemory()
    let documents = try store.defaultCollection()
    inParallel(3) { thread in
      for number in 0..<60 {
        let digest = BlobDigest(of: [UInt8](repeating: UInt8(number % 4 + 1), count: 3000))
        switch thread {
        case 0: try store.sweep()
        case 1: _ = try store.putBlob([UInt8](repeating: UInt8(number % 4 + 1), count: 3000))
        default:
          try store.save("\(number)", "x", blobs: [digest])
          if number % 3 == 0 { try store.write { _ = try $0.purge("\(number)", in: documents) } }
        }
      }
    }
    for number in 0..<4 { _ = try store.putBlob([UInt8](repeating: UInt8(number + 1), count: 3000)) }
    try store.sweep()
    let report = try store.verify()
    #expect(report.isSound && report.blobs == 4 && report.missingBlobs == 0, "\(report.faults)")
  }
}
