import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Testing

/// A small sound file, with its content after each of its commits.
struct DamageFixture: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let bytes: [UInt8]
  /// The ends of the commits' frames, ascending, with the content of the store after each; the
  /// first is an empty store.
  let commits: [(end: Int, content: Content)]
  /// All writes in order, with the offset and the bytes before and after.
  let writes: [(offset: Int, before: [UInt8], after: [UInt8])]

  var newest: Content { commits[commits.count - 1].content }

  private static func key(_ number: Int) -> [UInt8] { Array("key\(1000 + number)".utf8) }

  private static func put(_ number: Int, _ length: Int, in name: String = "a") -> CrashScript.Operation {
    .put(
      name, key: key(number),
      value: [UInt8](repeating: UInt8(truncatingIfNeeded: number * 7 + length), count: length))
  }

  private static let first: [[CrashScript.Operation]] = [
    (0..<64).map { put($0, 8) } + [put(80, 90)], [put(1, 100, in: "b"), .delete("a", key: key(3))],
  ]
  private static let second: [[CrashScript.Operation]] = [
    [put(5, 20), put(90, 70)], [.deleteRange("a", from: key(8), to: key(11))], [put(2, 9, in: "b")],
  ]

  static let all: [DamageFixture] = {
    do {
      return [
        try DamageFixture("before any checkpoint", first, checkpoint: false, second, closes: false),
        try DamageFixture("commits after a checkpoint", first, checkpoint: true, second, closes: false),
        try DamageFixture("closed", first, checkpoint: true, second, closes: true),
      ]
    } catch {
      Issue.record("\(error)")
      return []
    }
  }()

  /// A file of somewhat more than 64 KiB; nil, with an issue, if it could not be made.
  static let large: DamageFixture? = {
    // Few commits, so that no space is preallocated and the file contains only data.
    let many = (0..<85).map { put(200 + $0, 210) } + (0..<85).map { put(400 + $0, 3, in: "b") }
    do {
      return try DamageFixture(
        "64 KiB", first + [many], checkpoint: true, second + [Array(many.prefix(70))], closes: true)
    } catch {
      Issue.record("\(error)")
      return nil
    }
  }()

  /// The whole file is sealed: its last frame records that everything was durable.
  init(
    _ name: String, _ first: [[CrashScript.Operation]], checkpoint: Bool, _ second: [[CrashScript.Operation]],
    closes: Bool, from start: [UInt8]? = nil
  ) throws {
    testDescription = name
    let volume = SimulatedVolume()
    if let start { try volume.place(start, at: CrashScript.path) }
    var progress = CrashScript.Progress()
    var commits: [(end: Int, content: Content)] = [(16384, [:])]
    let store = try CrashScript.open(volume.process(1))
    for (index, operations) in (first + second).enumerated() {
      if index == first.count, checkpoint { try store.checkpoint() }
      try CrashScript.commit(operations, .synchronous, to: store, &progress)
      let end = volume.trace.last { $0.kind == .write }.map { $0.offset + $0.length } ?? 0
      commits.append((end, progress.newest))
    }
    if closes { try store.close() } else { try DamageFixture.seal(volume) }
    bytes = try volume.liveBytes(of: CrashScript.path)
    self.commits = commits
    writes = DamageFixture.writes(volume.trace, bytes)
  }

  /// Appends a seal, as the store does when it is idle.
  private static func seal(_ volume: SimulatedVolume) throws {
    volume.kill(process: 1)
    let log = try DatabaseFile.open(
      on: volume.process(2), path: CrashScript.path, readOnly: false,
      environment: Environment(now: { 0 }, random: { 7 }))
    _ = try log.recover { (_, _, _) throws(StorageError) in }
    try log.flush(through: log.writer.position, durable: true)
    // The bytes are durable, but the log does not know it.
    try log.syncNodes()
    let transaction = try log.writer.beginTransaction()
    #expect(transaction > 0)
    log.writer.abortTransaction()
    try log.writer.appendSeal()
    try log.flush(through: log.writer.position, durable: true)
    log.close()
  }

  private static func writes(
    _ trace: [SimulatedCall], _ bytes: [UInt8]
  ) -> [(offset: Int, before: [UInt8], after: [UInt8])] {
    var result: [(offset: Int, before: [UInt8], after: [UInt8])] = []
    for call in trace where call.kind == .write && call.offset >= 16384 {
      // These bytes are written only once, so there were zeros before.
      let range = call.offset..<min(call.offset + call.length, bytes.count)
      result.append((call.offset, [UInt8](repeating: 0, count: range.count), Array(bytes[range])))
    }
    return result
  }

  /// The possible contents of a file that is cut off at `length`; empty if the file lacks a commit
  /// that was durable according to its slots.
  func contents(of length: Int, floor: Int) -> [Content] {
    if commits.contains(where: { $0.end > length && $0.end <= floor }) { return [] }
    return commits.filter { $0.end <= length }.suffix(1).map(\.content)
  }

  /// The offset of the last frame, which only records that everything before it was durable.
  var seal: Int { bytes.count - 56 }

  /// The ranges of frames and nodes, which contain their own offsets.
  var structures: [Range<Int>] {
    bytes.withUnsafeBytes { all in
      guard let base = all.baseAddress else { return [] }
      var result: [Range<Int>] = []
      for offset in stride(from: 16384, through: all.count - 56, by: 8) {
        let length: Int
        if base.u32(offset + 8) == 0x5246_574C {
          length = base.u8(offset + 12) == 2 ? 56 : 56 + Int(truncatingIfNeeded: base.u64(offset + 48))
        } else if offset % 64 == 0, base.u64(offset + 16) == UInt64(offset) {
          length = Int(base.u32(offset + 12))
        } else {
          continue
        }
        if offset + length <= all.count { result.append(offset..<offset + length) }
      }
      return result
    }
  }
}
