import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

/// Single bits flipped, and files cut off: the right answer or an error, never another answer.
///
/// A file that was cut off between two commits, with nothing left that says more had been durable, is like one that was never written
/// further: then an earlier state is the right answer.
@Suite struct DamageTests {
  static let isLowEffort = CurrentProcess.environmentVariable("LATEWOOD_EFFORT") == "low"

  /// A file of a checkpoint, commits after it, extents, and a seal; or of commits alone.
  private func file(withCheckpoint: Bool) throws -> (bytes: [UInt8], states: [Content]) {
    let disk = SimulatedVolume()
    let store = try CrashScript.open(disk.process(1))
    let space = try store.keyspace("a")
    var states: [Content] = [[:], try store.content()]
    for index in 0..<6 {
      try store.write { transaction in
        try transaction.put("key\(index)", [UInt8](repeating: UInt8(index), count: 20), in: space)
        try transaction.put("large\(index)", [UInt8](repeating: UInt8(index), count: 100), in: space)
      }
      states.append(try store.content())
      if withCheckpoint, index == 3 { try store.checkpoint() }
    }
    try store.sync()
    // The seal of an idle store says that the last commit was durable; here a further commit says it.
    try store.put("last", "1", in: space)
    let bytes = try disk.liveBytes(of: "db")
    disk.kill(process: 1)
    return (bytes, states)
  }

  private enum Outcome: String { case right, error, wrong }

  /// Opens the bytes, reads all, and says whether that was right. The last commit may be missing: nothing says that it was durable.
  private func outcome(_ bytes: [UInt8], _ allowed: [Content]) throws -> Outcome {
    let disk = SimulatedVolume()
    try disk.place(bytes, at: "db")
    do {
      let store = try Store.open(
        at: "db", on: disk, mode: .openExisting, options: CrashScript.options(), environment: .system)
      var found = try store.content()
      _ = try store.verify()
      found["a"]?[Array("last".utf8)] = nil
      return allowed.contains(found) ? .right : .wrong
    } catch is StoreError {
      return .error
    }
  }

  @Test(arguments: [false, true])
  func `no flipped bit is passed off as data`(_ withCheckpoint: Bool) throws {
    let (bytes, states) = try file(withCheckpoint: withCheckpoint)
    var counts: [Outcome: Int] = [:]
    var offsets: [Int] = []
    for offset in bytes.indices {
      // The zeros that fill up headers and slots are sampled.
      let isFilling = bytes[offset] == 0 && offset < 16384 && offset % 97 != 0
      if !isFilling, !Self.isLowEffort || offset % 7 == 0 { offsets.append(offset) }
    }
    for offset in offsets {
      for bit in 0..<8 where !Self.isLowEffort || bit == offset % 8 {
        var damaged = bytes
        damaged[offset] ^= 1 << UInt8(bit)
        let outcome = try outcome(damaged, states.suffix(1))
        counts[outcome, default: 0] += 1
        if outcome == .wrong { Issue.record("bit \(bit) at \(offset): another content, and no error") }
      }
    }
    print(
      "DamageTests: \(bytes.count) bytes, \(counts.values.reduce(0, +)) flips: \(counts.map { "\($0.value) \($0.key)" })"
    )
    #expect(counts[.error, default: 0] > 0 && counts[.right, default: 0] > 0)
  }

  @Test(arguments: [false, true])
  func `no file that was cut off is passed off as whole`(_ withCheckpoint: Bool) throws {
    let (bytes, states) = try file(withCheckpoint: withCheckpoint)
    var counts: [Outcome: Int] = [:]
    for length in stride(from: 0, to: bytes.count, by: Self.isLowEffort ? 13 : 1) {
      // Whole blocks of filling are all alike.
      if length < 16384, length % 512 != 0 { continue }
      let outcome = try outcome(Array(bytes[..<length]), states)
      counts[outcome, default: 0] += 1
      if outcome == .wrong { Issue.record("cut at \(length): another content, and no error") }
    }
    print(
      "DamageTests: \(bytes.count) bytes, \(counts.values.reduce(0, +)) lengths: \(counts.map { "\($0.value) \($0.key)" })"
    )
    #expect(counts[.error, default: 0] > 0)
  }
}
