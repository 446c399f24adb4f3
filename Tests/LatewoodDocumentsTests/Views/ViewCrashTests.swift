import LatewoodDevice
import LatewoodFleece
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// Power failures at every call while views are built, kept, built anew and dropped. After each,
/// every view has the rows that are recorded for its documents; after catching up, it has the rows
/// that the documents emit.
@Suite struct ViewCrashTests {
  private static let imagesPerCall = Effort.count(64, low: 8)

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
        let body = try JSON.fleece(
          from: #"{"k":\#(number * factor),"v":\#(factor),"tags":["x","y\#(number)"]}"#)
        _ = try writer.save(id, in: documents, body: body, parent: nil, policy: .lastWriteWins)
      }
    }
  }

  private static func step(_ view: ViewDefinition, _ store: DocumentStore, limit: Int) throws {
    let documents = try store.defaultCollection()
    try store.register(view, of: documents)
    var build = ViewBuild(view, of: documents)
    build.limit = limit
    try store.write { [build] writer in _ = try build.step(in: writer.batch) }
  }

  private static func whole(_ view: ViewDefinition, _ store: DocumentStore) throws {
    let documents = try store.defaultCollection()
    try store.register(view, of: documents)
    try store.catchUp(view, of: documents)
  }

  private static func run(on volume: any Volume, _ done: (Int) -> Void) throws {
    let store = try open(volume)
    let documents = try store.defaultCollection()
    let steps: [(DocumentStore) throws -> Void] = [
      { try save(0..<12, 1, $0) },
      // The first of several steps; the others follow after a crash.
      { try step(SampleView.values("values", version: 1, .sum), $0, limit: 5) },
      { try save(3..<14, 2, $0) },
      { try whole(SampleView.values("values", version: 1, .sum), $0) },
      { try whole(SampleView.tags(), $0) },
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
      { try whole(SampleView.tags(version: 2), $0) },
      { _ = try $0.dropView("values", of: documents) },
      { try save(1..<9, 5, $0) },
    ]
    for (number, step) in steps.enumerated() {
      try step(store)
      done(number + 1)
    }
    try store.close()
  }

  @Test func `after a power cut at any call, views and documents agree`() throws {
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
    print("ViewCrashTests: \(calls) calls, \(points) points; seed \(seed)")
  }

  /// - Parameter reached: the number of steps that were acknowledged, all of which are durable.
  private func check(_ image: CrashImage, _ reached: Int, _ label: String, _ point: Int) throws {
    let volume = try image.makeVolume()
    do {
      let store = try Self.open(volume)
      let documents = try store.defaultCollection()
      let list = try store.reads(documents).viewList()
      let behind = Dictionary(uniqueKeysWithValues: list.map { ($0.name, $0.behind) })
      if (4...9).contains(reached) { #expect(behind["values"] == 0 || reached == 9, "\(label)") }
      if (5...8).contains(reached) { #expect(behind["tags"] != nil, "\(label)") }
      if reached >= 9 { #expect(behind["tags"] == 0, "\(label)") }
      if reached >= 10 { #expect(behind["values"] == nil, "\(label)") }
      try expectSound(store, label)
      if point % 3 == 0 {
        for view in [SampleView.values("values", version: 1, .sum), SampleView.tags(version: 2)] {
          try store.register(view, of: documents)
          #expect(
            try store.reads(view, of: documents).shownRows() == store.recomputedRows(view, in: documents),
            "\(label)")
        }
        try Self.save(0..<4, 7, store)
        #expect(try store.reads(documents).viewList().map(\.behind) == [0, 0], "\(label)")
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
