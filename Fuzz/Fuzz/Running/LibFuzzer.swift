#if FUZZING
  import LatewoodDevice
  import LatewoodSimulation

  // The entry points of libFuzzer, which has its own main function. `LATEWOOD_FUZZ_TARGET` names
  // the target.

  private enum Chosen {
    nonisolated(unsafe) static let target: any FuzzTarget = {
      let name = CurrentProcess.environmentVariable("LATEWOOD_FUZZ_TARGET") ?? ""
      guard let target = FuzzTargets.make(name) else {
        let known = FuzzTargets.all.map(\.name).joined(separator: " ")
        fatalError("LATEWOOD_FUZZ_TARGET must be one of: \(known)")
      }
      return target
    }()
  }

  @_cdecl("LLVMFuzzerTestOneInput")
  public func fuzzOneInput(_ start: UnsafeRawPointer?, _ count: Int) -> Int32 {
    // Without optimization, with the sanitizer and next to other processes, everything takes some
    // thirty times as long.
    Confinement.checkTime(limitSeconds: 30) {
      Chosen.target.run(UnsafeRawBufferPointer(start: start, count: count))
    }
    return 0
  }

  @_silgen_name("LLVMFuzzerMutate")
  private func libFuzzerMutate(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int) -> Int

  /// Lets libFuzzer change all bytes, or the bytes of a window. The target then repairs the damage.
  @_cdecl("LLVMFuzzerCustomMutator")
  public func fuzzMutate(
    _ start: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: UInt32
  ) -> Int {
    let target = Chosen.target
    var random = SeededRandom(seed: UInt64(seed))
    var bytes = [UInt8](UnsafeBufferPointer(start: start, count: count))
    if let window = target.window(bytes, &random), !window.isEmpty {
      // The length stays, so that offsets keep their meaning.
      var part = Array(bytes[window])
      _ = part.withUnsafeMutableBufferPointer { part in
        part.baseAddress.map { libFuzzerMutate($0, part.count, part.count) }
      }
      bytes.replaceSubrange(window, with: part)
    } else {
      bytes += [UInt8](repeating: 0, count: max(0, limit - count))
      let mutated = bytes.withUnsafeMutableBufferPointer { bytes in
        bytes.baseAddress.map { libFuzzerMutate($0, count, limit) } ?? 0
      }
      bytes.removeLast(bytes.count - mutated)
    }
    if !random.oneIn(8) { target.repair(&bytes) }
    let result = min(bytes.count, limit)
    for index in 0..<result { start[index] = bytes[index] }
    return result
  }
#endif
