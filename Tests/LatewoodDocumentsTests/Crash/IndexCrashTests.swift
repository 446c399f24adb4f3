import LatewoodDevice
import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// Power failures at every call while indexes are built, updated and dropped. After each, every
/// index agrees with the documents, and a ready one is complete.
@Suite struct IndexCrashTests {
  private static let imagesPerCall = Effort.count(64, low: 8)

  private static func definition(_ field: String) throws -> IndexDefinition {
    try IndexDefinition([IndexDefinition.Part(parsing: field)])
  }

  private static func open(_ volume: any Volume) throws -> DocumentStore {
    var options = TestClock().options()
    options.store.checkpointsInBackground = false
    options.store.nodeSize = 1024
    options.store.inlineValueLimit = 64
    options.store.writeBufferBudget = 65536
    return try DocumentStore.open(at: "db", on: volume, mode: .openOrCreate, options: options)
  }

  private static func save(_ numbers: Range<Int>, _ factor: Int, _ store: DocumentStore) throws {
    let documents = try store.defaultCollection()
    try store.write { writer in
      for number in numbers {
        let id = "document \(number)"
        let body = try JSON.fleece(from: #"{"n":\#(number * factor),"t":["x","y\#(number)"]}"#)
        let parent = try writer.reads(documents).head(of: id)?.winner
        _ = try writer.save(id, in: documents, body: body, parent: parent)
      }
    }
  }

  /// - Returns: after each step, the indexes that are durable.
  private static func run(on volume: any Volume, _ done: (Int) -> Void) throws {
    let store = try open(volume)
    let documents = try store.defaultCollection()
    let steps: [(DocumentStore) throws -> Void] = [
      { try save(0..<12, 1, $0) },
      // The first of several steps; the others follow after a crash.
      { store in
        var build = IndexBuild("n", try definition("n:desc"), of: documents)
        build.limit = 5
        try store.write { [build] writer in _ = try build.step(in: writer.batch) }
      },
      { try save(3..<14, 2, $0) },
      { try $0.createIndex("n", definition("n:desc"), in: documents) },
      { try $0.createIndex("t", definition("t[]"), in: documents) },
      { try save(0..<6, 3, $0) },
      { store in
        try store.write { writer in
          _ = try writer.purge("document 2", in: documents)
          let head = try writer.reads(documents).head(of: "document 4")
          _ = try writer.save(
            "document 4", in: documents, body: JSON.fleece(from: "{}"), parent: head?.winner, isDeleted: true)
        }
      },
      { _ = try $0.compact() },
      { _ = try $0.dropIndex("n", in: documents) },
      { try save(1..<9, 5, $0) },
    ]
    for (number, step) in steps.enumerated() {
      try step(store)
      done(number + 1)
    }
    try store.close()
  }

  @Test func `after a power cut at any call, indexes and documents agree`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    let whole = SimulatedVolume()
    try Self.run(on: whole) { _ in }
    let calls = whole.callCount
    var points = 0
    for call in stride(from: random.below(2), through: calls, by: 2) {
      let volume = SimulatedVolume()
      volume.inject(.powerCut, atCall: call)
      var reached = 0
      do { try Self.run(on: volume) { reached = $0 } } catch {
        if !volume.isCrashed { Issue.record("\(error) without a cause at call \(call)") }
      }
      let images = volume.crashImages(seed: random.next(), random: Self.imagesPerCall)
      var chosen: Set<Int> = [0, images.count - 1]
      while chosen.count < min(images.count, Self.imagesPerCall) { chosen.insert(random.below(images.count)) }
      for number in chosen.sorted() {
        try check(images[number], reached, "call \(call), image \(number); \(random.replay)", points)
        points += 1
      }
    }
    print("IndexCrashTests: \(calls) calls, \(points) points; seed \(seed)")
  }

  /// - Parameter reached: the number of steps that were acknowledged, all of which are durable.
  private func check(_ image: CrashImage, _ reached: Int, _ label: String, _ point: Int) throws {
    let volume = try image.makeVolume()
    do {
      let store = try Self.open(volume)
      let documents = try store.defaultCollection()
      let list = try store.reads(documents).indexList()
      let isReady = Dictionary(uniqueKeysWithValues: list.map { ($0.name, $0.isReady) })
      if reached == 4 { #expect(isReady["n"] == true, "\(label)") }
      if reached >= 5 { #expect(isReady["t"] == true, "\(label)") }
      if reached >= 9 { #expect(isReady["n"] == nil, "\(label)") }
      if reached < 3 { #expect(isReady["n"] != true, "\(label)") }
      try expectSound(store, label)
      if point % 3 == 0 {
        try store.createIndex("n", Self.definition("n:desc"), in: documents)
        try Self.save(0..<4, 7, store)
        try expectSound(store, "\(label), after going on")
      }
      volume.crash()
    } catch {
      Issue.record("\(error): \(label)")
    }
  }

  private func expectSound(_ store: DocumentStore, _ label: String) throws {
    let report = try store.verify(deep: true)
    if !report.isSound { Issue.record("\(report.faults) \(report.store?.faults ?? []): \(label)") }
  }
}
