import LatewoodDevice
import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore
import LatewoodText
import Testing

@testable import LatewoodDocuments

/// Power failures at every call while full-text indexes are built, kept, built anew and dropped.
/// After each, every index has exactly the words of the documents.
@Suite struct TextCrashTests {
  private static let imagesPerCall = Effort.count(64, low: 6)

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
        let body = try JSON.fleece(
          from: #"{"text":"common f\#(factor) n\#(number * factor)","tags":["x","y\#(number)"]}"#)
        _ = try writer.save(
          "document \(number)", in: documents, body: body, parent: nil, policy: .lastWriteWins)
      }
    }
  }

  private static func step(_ store: DocumentStore, limit: Int) throws {
    var build = TextIndexBuild(
      "text", try TextDefinition("text", "tags[]"), of: try store.defaultCollection())
    build.limit = limit
    build.mergeLength = 60
    try store.write { [build] writer in _ = try build.step(in: writer.batch) }
  }

  private static func whole(_ name: String, _ fields: String..., in store: DocumentStore) throws {
    let definition = try TextDefinition(fields.map { try TextDefinition.Field(parsing: $0) })
    try store.createIndex(name, fullText: definition, in: store.defaultCollection())
  }

  private static func run(on volume: any Volume, _ done: (Int) -> Void) throws {
    let store = try open(volume)
    let documents = try store.defaultCollection()
    let steps: [(DocumentStore) throws -> Void] = [
      { try save(0..<12, 1, $0) },
      // The first of several steps; the others follow after a crash.
      { try step($0, limit: 5) },
      { try save(3..<14, 2, $0) },
      // All documents, and the beginning of the merge.
      { try step($0, limit: 100) },
      { try step($0, limit: 100) },
      { try save(2..<4, 2, $0) },
      { try whole("text", "text", "tags[]", in: $0) },
      { try whole("tags", "tags[]", in: $0) },
      { try save(0..<6, 3, $0) },
      { store in
        try store.write { writer in
          _ = try writer.purge("document 2", in: documents)
          _ = try writer.save(
            "document 4", in: documents, body: JSON.fleece(from: "{}"), parent: nil, isDeleted: true,
            policy: .lastWriteWins)
        }
      },
      { _ = try $0.compact() },
      { _ = try $0.dropIndex("text", in: documents) },
      { try save(1..<9, 5, $0) },
    ]
    for (number, step) in steps.enumerated() {
      try step(store)
      done(number + 1)
    }
    try store.close()
  }

  @Test func `after a power cut at any call, the words of indexes and documents agree`() throws {
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
    print("TextCrashTests: \(calls) calls, \(points) points; seed \(seed)")
  }

  /// - Parameter reached: the number of steps that were acknowledged, all of which are durable.
  private func check(_ image: CrashImage, _ reached: Int, _ label: String, _ point: Int) throws {
    let volume = try image.makeVolume()
    do {
      let store = try Self.open(volume)
      let documents = try store.defaultCollection()
      let list = try store.reads(documents).textIndexList()
      let ready = Dictionary(uniqueKeysWithValues: list.map { ($0.name, $0.isReady) })
      if (7...11).contains(reached) { #expect(ready["text"] == true || reached == 11, "\(label)") }
      if reached >= 8 { #expect(ready["tags"] == true, "\(label)") }
      if reached >= 12 { #expect(ready["text"] == nil, "\(label)") }
      try expectSound(store, label)
      if point % 3 == 0 {
        try Self.whole("text", "text", "tags[]", in: store)
        try Self.save(0..<4, 7, store)
        #expect(
          try store.reads(documents).ids(in: "text", with: "f7") == (0..<4).map { "document \($0)" },
          "\(label)")
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
