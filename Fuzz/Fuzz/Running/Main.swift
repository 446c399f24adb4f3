#if !FUZZING
  import LatewoodBytes
  import LatewoodConcurrency
  import LatewoodDevice
  import LatewoodSimulation
  import LatewoodTerminal

  /// Replays files, and mutates them without libFuzzer, which ordinary builds do not include.
  @main enum Main {
    static let usage = """
      usage: Fuzz replay TARGET FILE...                Runs the target on each file.
             Fuzz mutate TARGET COUNT SEED [FILE...]   Runs it on the files and on so many mutations of them.
             Fuzz kept FILE                            Writes the input that a mutate run left when it ended early.
             Fuzz targets                              Lists the targets.

      """

    static func main() {
      let streams = StandardStreams()
      do {
        try run(CommandLine.arguments.dropFirst(), streams)
        streams.output.flush()
      } catch {
        streams.error.write(error is WrongUsage ? usage : "Fuzz: \(error)\n")
        streams.error.flush()
        CurrentProcess.exit(error is WrongUsage ? 2 : 1)
      }
    }

    private struct WrongUsage: Error {}

    private static func run(_ arguments: ArraySlice<String>, _ streams: StandardStreams) throws {
      var rest = arguments
      switch rest.popFirst() {
      case "targets": for target in FuzzTargets.all { streams.output.write("\(target.name)\n") }
      case "kept":
        guard let path = rest.popFirst() else { throw WrongUsage() }
        streams.output.write(KeptInput.input(in: try load(path)))
      case "replay":
        guard let name = rest.popFirst(), let target = FuzzTargets.make(name) else { throw WrongUsage() }
        let inputs = try rest.map { ($0, try load($0)) }
        Session(target, name).replay(inputs)
        streams.output.write("Fuzz: \(name): \(inputs.count) files replayed, no find\n")
      case "mutate":
        guard let name = rest.popFirst(), let target = FuzzTargets.make(name),
          let count = rest.popFirst().flatMap({ Int($0) }), let seed = rest.popFirst().flatMap({ UInt64($0) })
        else { throw WrongUsage() }
        let inputs = try rest.map { ($0, try load($0)) }
        let start = MonotonicClock.nanoseconds
        let session = Session(target, name)
        session.replay(inputs)
        try session.mutate(inputs.map(\.1), count: count, seed: seed)
        let seconds = Double(MonotonicClock.nanoseconds - start) / 1e9
        let rate = Int(Double(count) / max(seconds, 0.001))
        streams.output.write(
          "Fuzz: \(name): \(inputs.count) files, \(count) mutations of them from seed \(seed), "
            + "\(rate) a second, no find\n")
      default: throw WrongUsage()
      }
    }

    private static func load(_ path: String) throws -> [UInt8] {
      let device = try FileVolume().open(path, .readOnly)
      defer { device.close() }
      var bytes = [UInt8](repeating: 0, count: Int(try device.size()))
      _ = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
      return bytes
    }
  }
#endif
