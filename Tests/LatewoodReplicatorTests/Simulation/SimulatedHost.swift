import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodSimulation
import LatewoodStore

/// A database on a simulated disk, which may lose power at any moment.
final class SimulatedHost: Sendable {
  private struct State {
    var volume: SimulatedVolume
    var side: Side
    var random: SeededRandom
  }

  let name: String
  private let state: Guarded<State>
  private let options: DocumentOptions

  init(_ name: String, seed: UInt64) throws {
    self.name = name
    var options = DocumentOptions()
    options.expiresByItself = false
    options.store.compaction = .manual
    let random = Guarded(SeededRandom(seed: seed))
    options.environment = Environment(
      now: { 1_700_000_000_000_000 }, random: { random.withLock { $0.next() } })
    self.options = options
    let volume = SimulatedVolume(seed: seed)
    let side = try Side(
      DocumentStore.open(at: "db.latewood", on: volume, mode: .createNew, options: options))
    try side.store.sync()
    state = Guarded(State(volume: volume, side: side, random: SeededRandom(seed: seed &+ 1)))
  }

  var side: Side { state.withLock { $0.side } }

  /// Cuts the power: every later call fails until `restart`.
  func crash() { state.withLock { $0.volume.crash() } }

  var isCrashed: Bool { state.withLock { $0.volume.isCrashed } }

  /// Opens the file in a state that the power cut may have left.
  func restart() throws {
    try state.withLock { state in
      let images = state.volume.crashImages(seed: state.random.next(), random: 4)
      state.volume = try images[state.random.below(images.count)].makeVolume()
      state.side = try Side(
        DocumentStore.open(at: "db.latewood", on: state.volume, mode: .openExisting, options: options))
    }
  }

  func discard() { crash() }
}
