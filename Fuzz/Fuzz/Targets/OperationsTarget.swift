import LatewoodDevice
import LatewoodModels
import LatewoodSimulation
import LatewoodStore

/// Operations on a store, on a simulated disk that may lose power at one call, compared with a
/// model.
///
/// The input determines the call at which the power fails, the possible disk that remains, and the
/// call of the recovery at which the power fails again. The steps follow. After each failure, the
/// recovered state must lie between the last state acknowledged as durable and the one in progress.
final class OperationsTarget: FuzzTarget {
  var longest: Int { 600 }

  func run(_ input: UnsafeRawBufferPointer) {
    var bytes = InputBytes(input)
    let cut = bytes.word()
    let image = bytes.word()
    let secondCut = bytes.below(64)
    let secondImage = bytes.word()
    let script = ScriptDecoder.script(&bytes)
    var progress = CrashScript.Progress()
    let volume = SimulatedVolume()
    // Two values out of three place the cut within a run of usual length.
    if cut % 3 != 0 { volume.inject(.powerCut, atCall: (cut / 3) % 200) }
    guard let content = crash(script, volume, &progress, image) else { return }
    // Recovered once, and cut again during recovery.
    var second = CrashScript.Progress(from: content.shown)
    second.isOpened = progress.isOpened
    content.volume.inject(.powerCut, atCall: secondCut)
    _ = crash(Self.afterwards, content.volume, &second, secondImage)
  }

  private static let afterwards = CrashScript(
    name: "after a recovery",
    steps: [
      .transaction(.synchronous, [.put("more", key: [1], value: [1])]),
      .transaction(.relaxed, [.put("more", key: [2], value: [UInt8](repeating: 2, count: 300))]), .checkpoint,
      .transaction(.relaxed, [.delete("more", key: [1])]),
    ])

  /// Runs the script, up to the cut or its end, and checks the result. Returns the content, with a
  /// disk that holds it.
  private func crash(
    _ script: CrashScript, _ volume: SimulatedVolume, _ progress: inout CrashScript.Progress, _ number: Int
  ) -> (shown: Content, volume: SimulatedVolume)? {
    do { try script.run(on: volume, &progress) } catch {
      if !volume.isCrashed { find("\(error), without a cause") }
    }
    let images = volume.crashImages(seed: UInt64(number), random: 8)
    let image = images[number % images.count]
    do {
      let left = try image.makeVolume()
      if try progress.isOpened && !left.exists(CrashScript.path) { find("there is no file: \(image)") }
      let store = try CrashScript.open(left)
      let content = try store.content()
      if !progress.allows(content) {
        let place = progress.states.firstIndex(of: content).map { "state \($0)" } ?? "no state at all"
        find(
          "\(place) where \(progress.durable) is durable, of \(progress.states.count): \(image)\n\(script)\n"
            + volume.traceText(last: 100))
      }
      let faults = try store.verify().faults
      if !faults.isEmpty { find("\(faults) after the crash: \(image)") }
      StoreComparison.check(store, content)
      left.crash()
      return (content, try image.makeVolume())
    } catch {
      find("\(error) after the crash: \(image)")
    }
  }
}
