import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

/// One run of a script that loses power at one call.
final class CrashRun {
  private let script: CrashScript
  private let call: Int
  private var progress = CrashScript.Progress()

  init(script: CrashScript, call: Int) {
    self.script = script
    self.call = call
  }

  static func countCalls(of script: CrashScript) throws -> Int {
    let volume = SimulatedVolume()
    var progress = CrashScript.Progress()
    try script.run(on: volume, &progress)
    return volume.callCount
  }

  /// Which of `count` images to look at: all, or so many of them, the first and the last among them.
  static func sample(_ count: Int, _ wanted: Int, _ random: inout SeededRandom) -> [Int] {
    guard count > wanted else { return Array(0..<count) }
    var chosen: Set<Int> = [0, count - 1]
    while chosen.count < wanted { chosen.insert(random.below(count)) }
    return chosen.sorted()
  }

  /// Runs into the power cut; what the disk may have then.
  func images(seed: UInt64) throws -> CrashImages {
    let volume = SimulatedVolume(seed: seed)
    volume.inject(.powerCut, atCall: call)
    do {
      try script.run(on: volume, &progress)
    } catch is StoreError {}
    #expect(volume.isCrashed, "call \(call) of \(script.name) was not reached")
    return volume.crashImages(seed: seed)
  }

  private func isAllowed(_ content: Content) -> Bool {
    progress.states[progress.durable...].contains(content)
  }

  /// Opens an image and looks at what it shows; if `goesOn`, writes to it and opens it once more.
  func check(_ image: CrashImage, label: String, goesOn: Bool) throws {
    let volume = try image.makeVolume()
    let found = try show(volume, label)
    guard goesOn, let found else { return }
    let store = try CrashScript.open(volume, seed: 7)
    let more = try store.keyspace("more")
    try store.put("key", "value", in: more)
    try store.close()
    let again = try CrashScript.open(volume, seed: 7)
    var expected = found
    expected["more"] = [Array("key".utf8): Array("value".utf8)]
    #expect(try again.content() == expected, "after going on: \(label)")
    #expect(try again.verify().faults == [], "after going on: \(label)")
    try again.close()
  }

  private func show(_ volume: any Volume, _ label: String) throws -> Content? {
    do {
      let store = try CrashScript.open(volume, seed: 7)
      let content = try store.content()
      #expect(isAllowed(content), "durable \(progress.durable): \(label)")
      let faults = try store.verify().faults
      #expect(faults == [], "\(label)")
      try store.close()
      return content
    } catch {
      Issue.record("\(error): \(label)")
      return nil
    }
  }

  /// Loses power again at each call of the recovery itself; how many points that were.
  func checkNested(_ image: CrashImage, label: String, _ random: inout SeededRandom) throws -> Int {
    var points = 0
    for call in 0... {
      let volume = try image.makeVolume()
      volume.inject(.powerCut, atCall: call)
      do {
        let store = try CrashScript.open(volume, seed: 7)
        try store.close()
      } catch is StoreError {}
      guard volume.isCrashed else { break }
      let images = volume.crashImages(seed: random.next())
      for position in CrashRun.sample(images.count, 4, &random) {
        _ = try show(try images[position].makeVolume(), "recovery's call \(call), image \(position), of \(label)")
        points += 1
      }
    }
    return points
  }
}
