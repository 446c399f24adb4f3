import LatewoodBytes
import LatewoodDevice
import Testing

@testable import LatewoodFile
@testable import LatewoodInspection

/// The rule that tells a torn tail from damage, as the inspection tool applies it. The engine has
/// the same rule: `TailSearchTests`.
@Suite struct InspectedTailTests {
  private let sound: InspectedFile
  private let end: UInt64
  private let beginning: [UInt8]

  init() throws {
    sound = try InspectedFile(path: GoldenFiles.path("checkpointed"))
    end = sound.log.end.offset
    beginning = Array(try GoldenFiles.bytes("checkpointed")[..<Int(end)])
  }

  /// Returns the log of the file with other bytes after it, and the engine's verdict about them.
  private func log(
    followedBy tail: [UInt8], limit: UInt64 = LogRemainder.searchLimit
  ) throws -> (log: InspectedLog, isDamageForEngine: Bool) {
    let bytes = beginning + tail
    let reader = try FileReader(DamagedFile(bytes), searchLimit: limit)
    let frames = UnitReader(reader: reader, codec: sound.header.codec)
    let slots = try (0..<2).map { try InspectedSlot(index: $0, frames) }
    let log = try InspectedLog(frames, from: sound.checkpoint, slots: slots)
    let floor = slots.reduce(0) { max($0, $1.slot?.durableThrough ?? 0) }
    let isDamage = try bytes.withUnsafeBytes { bytes in
      let base = try #require(bytes.baseAddress)
      let view = FileView(
        base: base, verified: UnsafeMutableRawPointer(mutating: base), codec: sound.header.codec,
        limit: UInt64(bytes.count))
      var walk = LogReader(
        view: view, from: log.start, lastTransaction: sound.checkpoint?.record.transaction ?? 0)
      try walk.finish()
      #expect(walk.position == log.end)
      return try walk.endsInDamage(floor: floor, limit: limit)
    }
    return (log, isDamage)
  }

  private func seal(at offset: UInt64, durableThrough: UInt64) -> [UInt8] {
    let header = FrameHeader(
      kind: .seal, ownOffset: offset, transaction: 9, previousChecksum: 1, durableThrough: durableThrough,
      payloadLength: 0)
    var frame = [UInt8](repeating: 0, count: FrameHeader.length)
    frame.withUnsafeMutableBytes { bytes in
      if let base = bytes.baseAddress { _ = header.encode(into: base, codec: sound.header.codec) }
    }
    return frame
  }

  @Test func `a frame that contradicts the end is damage for both, wherever it begins`() throws {
    for gap in [8, 64, 65_528, 131_048, 131_064, 131_072, 131_080, 262_144] {
      let start = end + UInt64(gap)
      let zeros = [UInt8](repeating: 0, count: gap)
      let rest = [UInt8](repeating: 0, count: 4096)
      let found = try log(followedBy: zeros + seal(at: start, durableThrough: end + 1) + rest)
      #expect(found.log.tail == .damaged && found.isDamageForEngine, "\(gap)")
      // A frame that claims no more than the walk has found is part of the torn tail.
      let torn = try log(followedBy: zeros + seal(at: start, durableThrough: end) + rest)
      #expect(torn.log.tail == .skipped && !torn.isDamageForEngine, "\(gap)")
      var broken = seal(at: start, durableThrough: end + 1)
      broken[FrameHeader.Offset.transaction] ^= 1
      let other = try log(followedBy: zeros + broken + rest)
      #expect(other.log.tail == .skipped && !other.isDamageForEngine, "\(gap)")
    }
  }

  @Test func `both search as far as the limit`() throws {
    let gap = 131_064
    let tail =
      [UInt8](repeating: 0, count: gap) + seal(at: end + UInt64(gap), durableThrough: end + 1)
      + [UInt8](repeating: 0, count: 4096)
    for (limit, isDamage) in [(gap - 8, false), (gap, false), (gap + 1, true), (gap + 12, true)] {
      let found = try log(followedBy: tail, limit: UInt64(limit))
      #expect((found.log.tail == .damaged) == isDamage && found.isDamageForEngine == isDamage, "\(limit)")
      if !isDamage {
        #expect(found.log.unsearched == end + UInt64(limit)..<end + UInt64(tail.count), "\(limit)")
      }
    }
  }

  @Test func `both call a file full of costly claims damaged`() throws {
    // Each header claims most of the tail as its payload, and none is sound.
    let count = 40
    var tail = [UInt8](repeating: 1, count: 64 << 10)
    for index in 0..<count {
      let offset = end + UInt64(index * 64)
      let header = FrameHeader(
        kind: .commit, ownOffset: offset, transaction: 9, previousChecksum: 1, durableThrough: end + 1,
        payloadLength: 32 << 10)
      tail.withUnsafeMutableBytes { bytes in
        if let base = bytes.baseAddress { header.encodeFields(into: base + index * 64) }
      }
    }
    let found = try log(followedBy: tail)
    #expect(found.log.tail == .damaged && found.isDamageForEngine)
    // With fewer claims the budget suffices to refute them all.
    for index in 30..<count { tail[index * 64 + FrameHeader.Offset.magic] = 0 }
    let refuted = try log(followedBy: tail)
    #expect(refuted.log.tail == .skipped && !refuted.isDamageForEngine)
  }
}
