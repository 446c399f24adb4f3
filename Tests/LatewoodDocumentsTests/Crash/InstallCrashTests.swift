import LatewoodDevice
import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import Testing

/// Copies of a database that become independent databases.
@Suite struct InstallCrashTests {
  private static let target = "copy"

  private func open(_ volume: any Volume, at path: String = "db") throws -> DocumentStore {
    var options = TestClock().options()
    options.store.checkpointsInBackground = false
    return try DocumentStore.open(at: path, on: volume, mode: .openOrCreate, options: options)
  }

  /// Returns a database with superseded bodies, and a blob to which only one of those refers.
  private func original(on volume: SimulatedVolume) throws -> DocumentStore {
    let store = try open(volume)
    let blob = try store.putBlob([UInt8](repeating: 3, count: 5000))
    var parent: RevisionID?
    for round in 0..<4 {
      let blobs = round == 0 ? [blob.digest] : []
      parent = try store.save(
        "a", "\(round)" + String(repeating: "x", count: 3000), over: parent, blobs: blobs
      )
      .revision
    }
    try store.save("b", "only once")
    return store
  }

  private func check(_ copy: DocumentStore, _ original: DocumentStore, _ label: String) throws {
    #expect(try copy.identity() != original.identity(), "\(label)")
    #expect(try copy.identity().count == 16, "\(label)")
    #expect(try copy.body("a")?.first == "3" && copy.body("b") == "only once", "\(label)")
    let report = try copy.verify()
    #expect(report.faults == [] && report.store?.faults == [], "\(label)")
    #expect(report.bodies == 2 && report.blobs == 0, "\(label)")
  }

  @Test func `a copy is compact, and leaves no other files`() throws {
    let volume = SimulatedVolume()
    let store = try original(on: volume)
    try store.install(at: Self.target, on: volume)
    let copy = try open(volume, at: Self.target)
    try check(copy, store, "")
    try copy.close()
    #expect(volume.liveNames == [Self.target, "db"])
    #expect(try volume.liveBytes(of: Self.target).count < 30_000)
    refusal(.conflict) { try store.install(at: Self.target, on: volume) }
    refusal(.conflict) { try store.install(at: "db", on: volume) }
    try store.expectSound()
    try store.close()
  }

  /// Creates another database at the path of the copy, and returns its identity.
  private func older(on volume: SimulatedVolume) throws -> [UInt8] {
    let store = try open(volume, at: Self.target)
    try store.save("old", "as it was")
    let identity = try store.identity()
    try store.close()
    return identity
  }

  @Test func `a copy replaces a database only if it is not open`() throws {
    let volume = SimulatedVolume()
    let store = try original(on: volume)
    _ = try older(on: volume)
    let writer = try open(volume, at: Self.target)
    refusal(.busy) { try store.replace(at: Self.target, on: volume) }
    try writer.close()
    let reader = try DocumentStore.open(
      at: Self.target, on: volume, mode: .readOnly, options: TestClock().options())
    refusal(.busy) { try store.replace(at: Self.target, on: volume) }
    #expect(try reader.body("old") == "as it was")
    try reader.close()
    refusal(.busy) { try store.replace(at: "db", on: volume) }
    try store.replace(at: Self.target, on: volume)
    for _ in 0..<2 {
      let copy = try open(volume, at: Self.target)
      try check(copy, store, "")
      #expect(try copy.body("old") == nil)
      try copy.close()
      // Install again, and then at a path without a database.
      try volume.remove(Self.target)
      try store.replace(at: Self.target, on: volume)
    }
    #expect(volume.liveNames == [Self.target, "db"])
    try store.expectSound()
    try store.close()
  }

  @Test func `a power cut during a replacement leaves the old database or the whole copy`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    var outcomes: Set<Bool> = []
    for call in 0... {
      let volume = SimulatedVolume()
      let store = try original(on: volume)
      let identity = try older(on: volume)
      try store.sync()
      volume.inject(.powerCut, atCall: volume.callCount + call)
      do { try store.replace(at: Self.target, on: volume) } catch {
        if !volume.isCrashed { Issue.record("\(error) at call \(call); \(random.replay)") }
      }
      let images = volume.crashImages(seed: random.next(), random: 4)
      for index in Set([0, images.count - 1, random.below(images.count)]).sorted() {
        let label = "call \(call), image \(index): \(images[index]); \(random.replay)"
        let disk = try images[index].makeVolume()
        let source = try open(disk)
        let found = try open(disk, at: Self.target)
        let isOld = try found.identity() == identity
        outcomes.insert(isOld)
        if isOld {
          #expect(volume.isCrashed, "the copy is not there: \(label)")
          #expect(try found.body("old") == "as it was", "\(label)")
          #expect(try found.verify().faults == [], "\(label)")
        } else {
          try check(found, source, label)
        }
        try found.close()
        try source.close()
        #expect(disk.liveNames == [Self.target, "db"], "\(label)")
        disk.crash()
      }
      if !volume.isCrashed {
        volume.clearFaults()
        try store.close()
        break
      }
    }
    #expect(outcomes == [false, true])
  }

  @Test func `a power cut during an installation leaves a whole copy with a new identity, or none`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    for call in 0... {
      let volume = SimulatedVolume()
      let store = try original(on: volume)
      try store.sync()
      volume.inject(.powerCut, atCall: volume.callCount + call)
      do { try store.install(at: Self.target, on: volume) } catch {
        if !volume.isCrashed { Issue.record("\(error) at call \(call); \(random.replay)") }
      }
      let images = volume.crashImages(seed: random.next(), random: 4)
      for index in Set([0, images.count - 1, random.below(images.count)]).sorted() {
        let label = "call \(call), image \(index): \(images[index]); \(random.replay)"
        let disk = try images[index].makeVolume()
        let source = try open(disk)
        if try disk.exists(Self.target) {
          let copy = try open(disk, at: Self.target)
          try check(copy, source, label)
          try copy.close()
        } else {
          #expect(volume.isCrashed, "a copy that was made is gone: \(label)")
          if call % 4 == 0 {
            try source.install(at: Self.target, on: disk)
            try check(try open(disk, at: Self.target), source, "made anew: \(label)")
          }
        }
        try source.close()
        if try disk.exists(Self.target) { #expect(disk.liveNames == [Self.target, "db"], "\(label)") }
        disk.crash()
      }
      if !volume.isCrashed {
        volume.clearFaults()
        try store.close()
        break
      }
    }
  }
}
