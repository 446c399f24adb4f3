import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import LatewoodTerminal

/// Runs one target on many inputs, each within the limits of `Confinement`.
// SAFETY: the thread that created it waits while the thread with the small stack works.
final class Session: @unchecked Sendable {
  private let target: any FuzzTarget
  private let name: String
  private let peakAtStart = Confinement.peakMemory

  init(_ target: any FuzzTarget, _ name: String) {
    self.target = target
    self.name = name
  }

  func replay(_ inputs: [(path: String, bytes: [UInt8])]) {
    Confinement.onSmallStack {
      let streams = StandardStreams()
      for input in inputs {
        // Printed before the run, so that a find is always the last name.
        streams.error.write("\(input.path)\n")
        if CurrentProcess.environmentVariable("LATEWOOD_FUZZ_VERBOSE") != nil { streams.error.flush() }
        self.run(input.bytes)
      }
    }
  }

  /// Runs mutations of the inputs. An input that ends the process is kept in the file
  /// `fuzz-NAME.kept`.
  func mutate(_ inputs: [[UInt8]], count: Int, seed: UInt64) throws {
    let kept = try KeptInput(path: "fuzz-\(name).kept", capacity: 2 << 20)
    Confinement.onSmallStack {
      for index in 0..<count {
        // Each mutation has a separate seed, so that it can be repeated without the earlier ones.
        var mutation = Mutation(
          of: inputs, for: self.target, SeededRandom(seed: seed &+ UInt64(index) &* 0xD1B5_4A32_D192_ED03))
        let bytes = mutation.run()
        kept.set(bytes)
        self.run(bytes)
      }
    }
    kept.remove()
  }

  private func run(_ bytes: [UInt8]) {
    Confinement.checkTime { bytes.withUnsafeBytes { target.run($0) } }
    // The peak of all inputs so far: if it exceeds the limit, the last input has caused that.
    let used = Confinement.peakMemory - peakAtStart - bytes.count
    if used > Confinement.memory + 8 << 20 { find("\(used >> 20) MiB of memory for \(bytes.count) bytes") }
  }
}
