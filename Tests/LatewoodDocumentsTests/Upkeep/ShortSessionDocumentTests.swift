import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import Testing

/// Programs that open the database for one document and close it again, many times.
@Suite struct ShortSessionDocumentTests {
  private static let path = "db"

  @discardableResult private static func session<Result>(
    _ volume: SimulatedVolume, _ body: (DocumentStore, CollectionHandle) throws -> Result
  ) throws -> Result {
    var options = TestClock().options()
    options.store.checkpointsInBackground = false
    options.store.keepsBoundsWhenClosed = true
    options.expiresByItself = false
    let store = try DocumentStore.open(at: path, on: volume, mode: .openOrCreate, options: options)
    let result = try body(store, store.defaultCollection())
    try store.close()
    return result
  }

  private static func sizes(_ volume: SimulatedVolume) throws -> (length: UInt64, allocated: UInt64) {
    let device = try volume.open(path, .readOnly)
    defer { device.close() }
    return try (device.size(), device.allocatedSize())
  }

  private static func body(_ number: Int, _ length: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: length)
  }

  /// The bodies of earlier revisions are kept until the file is compacted, and count as dead.
  @Test(.timeLimit(.minutes(10)))
  func `sessions that each save a document once leave a file within the bounds`() throws {
    let volume = SimulatedVolume(seed: 1)
    let (length, documents) = (50_000, 10)
    var appended: UInt64 = 0
    var last: UInt64 = 0
    for number in 0..<Effort.count(4000, low: 800) {
      let id = "\(number % documents)"
      try Self.session(volume) { store, collection in
        let parent = try store.reads(collection).record(of: id)?.tree.winner.flatMap {
          $0.isDeleted ? nil : $0.id
        }
        if number % 5 == 4, let parent {
          try store.write { writer in
            try writer.save(id, in: collection, body: [], parent: parent, isDeleted: true)
          }
        } else {
          try store.write { writer in
            try writer.save(id, in: collection, body: Self.body(number, length), parent: parent)
          }
        }
      }
      let sizes = try Self.sizes(volume)
      appended += sizes.length - min(sizes.length, last)
      last = sizes.length
      let live = UInt64(documents * length) + 16 << 10
      #expect(sizes.allocated <= 3 * live + 32 << 20, "\(sizes), session \(number)")
      #expect(sizes.length <= 8 * live + 64 << 20, "\(sizes), session \(number)")
    }
    #expect(appended > 36 << 20)
    try Self.session(volume) { store, _ in try store.expectSound() }
  }

  @Test(.timeLimit(.minutes(10)), arguments: [false, true])
  func `a full disk is emptied in sessions of one document each`(_ purges: Bool) throws {
    let volume = SimulatedVolume(seed: 3)
    volume.countsBlocks = true
    volume.keepsBlocks = true
    volume.spaceLimit = 4 << 20
    var revisions: [(id: String, revision: RevisionID)] = []
    try Self.session(volume) { store, collection in
      while true {
        let id = "\(revisions.count * 7919 % 10_007)"
        do {
          let saved = try store.write { writer in
            try writer.save(id, in: collection, body: Self.body(revisions.count, 3000), parent: nil)
          }
          revisions.append((id, saved.revision))
        } catch let error as DatabaseError where error.store?.code == .outOfSpace {
          return
        }
      }
    }
    #expect(revisions.count > 200)
    let gone = revisions.count * 3 / 4
    for (id, revision) in revisions[..<gone] {
      try Self.session(volume) { store, collection in
        try store.write { writer in
          if purges {
            _ = try writer.purge(id, in: collection)
          } else {
            try writer.save(id, in: collection, body: [], parent: revision, isDeleted: true)
          }
        }
      }
    }
    // What deleted documents had said goes with a compaction, for which there is space.
    try Self.session(volume) { store, collection in
      try store.compact()
      #expect(try store.reads(collection).count() == revisions.count - gone)
    }
    for number in 0..<gone / 4 {
      try Self.session(volume) { store, collection in
        try store.write { writer in
          try writer.save("more \(number)", in: collection, body: Self.body(number, 3000), parent: nil)
        }
      }
    }
    try Self.session(volume) { store, _ in try store.expectSound() }
  }
}
