import LatewoodDevice
import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Testing

/// One run of a script that loses power at one call, or at the end.
final class CrashRun {
  private let script: CrashScript
  private let call: Int
  private(set) var progress: CrashScript.Progress
  private(set) var isCut = false

  /// - Parameter start: the content of the volume's store.
  init(script: CrashScript, call: Int, from start: Content = [:]) {
    self.script = script
    self.call = call
    progress = CrashScript.Progress(from: start)
  }

  static func countCalls(of script: CrashScript) throws -> Int {
    let volume = SimulatedVolume()
    var progress = CrashScript.Progress()
    try script.run(on: volume, &progress)
    return volume.callCount
  }

  /// The indexes of the images to check: all of `count`, or `wanted` of them, including the first
  /// and the last.
  static func sample(_ count: Int, _ wanted: Int, _ random: inout SeededRandom) -> [Int] {
    guard count > wanted else { return Array(0..<count) }
    var chosen: Set<Int> = [0, count - 1]
    while chosen.count < wanted { chosen.insert(random.below(count)) }
    return chosen.sorted()
  }

  /// Runs until the power cut, and returns the possible contents of the disk.
  func images(on volume: SimulatedVolume = SimulatedVolume(), seed: UInt64, random: Int = 32) throws
    -> CrashImages
  {
    volume.inject(.powerCut, atCall: call)
    do {
      try script.run(on: volume, &progress)
    } catch let error as StoreError {
      if !volume.isCrashed { Issue.record("\(error) without a cause in \(script.name), call \(call)") }
    }
    isCut = volume.isCrashed
    return volume.crashImages(seed: seed, random: random)
  }

  /// Opens an image, checks its content and returns it. With `goesOn`, also writes to the image and
  /// opens it once more.
  func check(_ image: CrashImage, goesOn: Bool, label: @autoclosure () -> String) throws -> Content? {
    let volume = try image.makeVolume()
    do {
      if progress.isOpened, try !volume.exists(CrashScript.path) {
        Issue.record("there is no file: \(label())")
        return nil
      }
      let store = try CrashScript.open(volume)
      let content = try store.content()
      if !progress.allows(content) {
        let place = progress.states.firstIndex(of: content).map { "state \($0)" } ?? "no state at all"
        Issue.record(
          "\(place) where \(progress.durable) is durable and \(progress.states.count - 1) in flight: \(label())"
        )
      }
      let faults = try store.verify().faults
      if !faults.isEmpty { Issue.record("\(faults): \(label())") }
      if goesOn { try goOn(store, volume, content, label()) }
      // The store is not closed, because that would take longer than everything else.
      volume.crash()
      return content
    } catch {
      Issue.record("\(error): \(label())")
      return nil
    }
  }

  private func goOn(_ store: Store, _ volume: SimulatedVolume, _ content: Content, _ label: String) throws {
    let more = try store.keyspace("more")
    try store.put("key", "value", in: more)
    try store.close()
    let again = try CrashScript.open(volume)
    var expected = content
    expected["more", default: [:]][Array("key".utf8)] = Array("value".utf8)
    if try again.content() != expected { Issue.record("wrong content after going on: \(label)") }
    for (name, entries) in expected {
      guard let keyspace = try again.existingKeyspace(name) else { continue }
      if try again.count(in: keyspace) != entries.count {
        Issue.record("wrong count after going on: \(label)")
      }
    }
    let faults = try again.verify().faults
    if !faults.isEmpty { Issue.record("\(faults) after going on: \(label)") }
  }

  /// Writes to an image, loses power again at each call (including the calls of the recovery), and
  /// recovers from this second loss.
  ///
  /// - Parameters:
  ///   - content: the content of the image, which every recovery must show.
  ///   - perCall: the number of images to check for each call.
  /// - Returns: the number of points.
  static func checkSecondCut(
    _ image: CrashImage, showing content: Content, perCall: Int, _ random: inout SeededRandom, label: String
  ) throws -> Int {
    var points = 0
    for call in 0... {
      let run = CrashRun(script: .second, call: call, from: content)
      let images = try run.images(on: image.makeVolume(), seed: random.next(), random: perCall)
      for position in sample(images.count, perCall, &random) {
        let second = images[position]
        _ = try run.check(
          second, goesOn: points % 16 == 0,
          label: "second cut at call \(call), image \(position), \(second); after \(label)")
        points += 1
      }
      if !run.isCut { break }
    }
    return points
  }
}
