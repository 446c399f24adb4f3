#if !FUZZING
  import LatewoodBytes
  import LatewoodDevice

  /// Replays files, and mutates them by itself: what runs where there is no libFuzzer.
  ///
  /// usage: FuzzOpen COUNT SEED FILE...
  @main enum Main {
    static func main() {
      let streams = StandardStreams()
      do {
        let arguments = CommandLine.arguments
        guard arguments.count > 3, let count = Int(arguments[1]), var state = UInt64(arguments[2]) else {
          streams.error.write("usage: FuzzOpen COUNT SEED FILE...\n")
          streams.error.flush()
          CurrentProcess.exit(2)
        }
        func random(_ bound: Int) -> Int {
          state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
          return Int((state >> 33) % UInt64(max(bound, 1)))
        }
        let inputs = try arguments[3...].map { try load($0) }
        for input in inputs { input.withUnsafeBytes { OpenAndRead.run($0) } }
        for _ in 0..<count {
          var bytes = inputs[random(inputs.count)]
          for _ in 0...random(4) where !bytes.isEmpty {
            // Most of what matters lies behind the header.
            let from = bytes.count > 16384 && random(8) > 0 ? 16384 : 0
            let at = from + random(bytes.count - from)
            bytes[at] = random(3) == 0 ? UInt8(random(256)) : bytes[at] ^ (1 << UInt8(random(8)))
          }
          if random(16) == 0 { bytes.removeLast(random(bytes.count)) }
          if random(4) > 0 { Repair.run(&bytes) }
          bytes.withUnsafeBytes { OpenAndRead.run($0) }
        }
        streams.output.write(
          "FuzzOpen: \(inputs.count) files replayed, \(count) mutations of them, no find\n")
        streams.output.flush()
      } catch {
        streams.error.write("FuzzOpen: \(error)\n")
        streams.error.flush()
        CurrentProcess.exit(1)
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
