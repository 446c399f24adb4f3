import LatewoodBytes
import LatewoodFile
import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Testing

/// Damage to a file that is recorded as durable to its end: reads return the right answer or an
/// error, never a wrong answer.
@Suite struct DamageTests {
  /// Whether a byte belongs to a field of a header or slot, or to the log.
  private static func isField(_ offset: Int) -> Bool {
    if offset >= 16384 { return true }
    let inPart = offset % 4096
    return offset < 8192 ? inPart < 48 || inPart >= 4088 : inPart < 64
  }

  @Test(arguments: DamageFixture.all)
  func `a flipped bit gives the right answer or an error`(_ fixture: DamageFixture) throws {
    try flip(fixture, bytes: fixture.bytes.indices, stride: Effort.damageStride)
  }

  /// The larger file has a tree of two levels. With `LATEWOOD_EVERY_BIT` all of its bits are
  /// flipped, otherwise one in many.
  @Test(arguments: 0..<4)
  func `a flipped bit in a file of 64 KiB gives the right answer or an error`(quarter: Int) throws {
    let fixture = try #require(DamageFixture.large)
    #expect((65_536...80_000).contains(fixture.bytes.count))
    let length = fixture.bytes.count / 4
    let end = quarter == 3 ? fixture.bytes.count : (quarter + 1) * length
    try flip(
      fixture, bytes: quarter * length..<end, stride: Effort.everyBit ? 1 : 60 * Effort.damageStride + 1)
  }

  private func flip(_ fixture: DamageFixture, bytes: Range<Int>, stride: Int) throws {
    let run = try DamageRun(fixture.bytes)
    for offset in bytes {
      let isField = DamageTests.isField(offset)
      if !isField, offset % 61 != 0, !Effort.everyBit { continue }
      for bit in 0..<8 where isField || Effort.everyBit || bit == offset % 8 {
        if (offset * 8 + bit) % stride != 0 { continue }
        let outcome = try run.open { try $0.corrupt(CrashScript.path, at: offset, xor: 1 << UInt8(bit)) }
        // The rest of a header is covered by its checksum; the rest of a slot is not covered.
        let mustReport = offset < 8192 || offset < 16384 && isField
        run.judge(
          outcome, right: [fixture.newest], mustReport: mustReport,
          "\(fixture.testDescription), bit \(bit) of byte \(offset) of \(fixture.bytes.count)")
      }
    }
    print(
      "DamageTests: \(fixture.testDescription), bytes \(bytes.lowerBound) to \(bytes.upperBound), flipped bits: \(run.summary)"
    )
    #expect(run.right + run.errors > 0)
  }

  @Test(arguments: DamageFixture.all)
  func `a truncated file shows only whole commits, and no state older than its slots record`(
    _ fixture: DamageFixture
  ) throws {
    let run = try DamageRun(fixture.bytes)
    let floor = try slotFloor(fixture.bytes)
    for length in 0..<fixture.bytes.count {
      if length < 16384, length % 512 != 0, length % 61 != 0 { continue }
      if length % Effort.damageStride != 0 { continue }
      let volume = SimulatedVolume()
      try volume.place(Array(fixture.bytes[..<length]), at: CrashScript.path)
      // A missing commit is not noticed if everything that recorded it is cut off too; neither are
      // missing bytes of padding.
      let right =
        fixture.contents(of: length, floor: floor) + fixture.contents(of: (length + 7) & ~7, floor: floor)
      run.judge(
        try DamageRun.look(at: volume), right: right,
        "\(fixture.testDescription), \(length) of \(fixture.bytes.count) bytes")
    }
    print("DamageTests: \(fixture.testDescription), cut short: \(run.summary)")
  }

  private func slotFloor(_ bytes: [UInt8]) throws -> Int {
    try bytes.withUnsafeBytes { all in
      let codec = try FileHeader.decode(from: all).codec
      return try (0..<2).reduce(0) { floor, place in
        let start = 8192 + place * 4096
        let slot = UnsafeRawBufferPointer(rebasing: all[start..<start + 4096])
        return max(floor, Int(try RootSlot.decode(from: slot, index: place, codec: codec).durableThrough))
      }
    }
  }

  @Test(arguments: DamageFixture.all)
  func `a lost or misplaced write is noticed`(_ fixture: DamageFixture) throws {
    let run = try DamageRun(fixture.bytes)
    let floor = try slotFloor(fixture.bytes)
    func replace(_ start: Int, _ new: some Collection<UInt8>, _ what: @autoclosure () -> String) throws {
      let bytes = fixture.bytes
      let changed = zip(start..., new).filter { at, byte in at < bytes.count && bytes[at] != byte }
      let outcome = try run.open { volume in
        for (at, byte) in changed { try volume.corrupt(CrashScript.path, at: at, xor: bytes[at] ^ byte) }
      }
      var right = [fixture.newest]
      if let first = changed.first?.0, let last = changed.last?.0, last >= fixture.seal {
        // Without the seal, only the slots record that earlier commits were durable.
        right += fixture.contents(of: first, floor: floor)
      }
      run.judge(
        outcome, right: right, "\(fixture.testDescription), \(what()) at \(start) of \(bytes.count)")
    }
    for write in fixture.writes { try replace(write.offset, write.before, "a lost write") }
    let structures = fixture.structures
    #expect(structures.count > 5)
    for target in structures {
      try replace(target.lowerBound, repeatElement(0, count: target.count), "zeros")
      for source in structures where source != target {
        try replace(target.lowerBound, fixture.bytes[source], "what belongs at \(source)")
        try replace(
          target.lowerBound, fixture.bytes[source].prefix(target.count), "a part of what belongs at \(source)"
        )
      }
    }
    for sector in stride(from: 16384, to: fixture.bytes.count, by: 512) {
      try replace(sector, repeatElement(0, count: 512), "a sector of zeros")
      for other in stride(from: 0, to: fixture.bytes.count - 511, by: 512) where other != sector {
        try replace(sector, fixture.bytes[other..<other + 512], "the sector at \(other)")
      }
    }
    try replace(8192, fixture.bytes[12288..<16384], "the other slot")
    try replace(12288, fixture.bytes[8192..<12288], "the other slot")
    print("DamageTests: \(fixture.testDescription), lost and misdirected writes: \(run.summary)")
    #expect(run.errors > 0)
  }

  @Test(arguments: DamageFixture.all)
  func `a slot with stale contents is not taken for the newest state`(_ fixture: DamageFixture) throws {
    let empty = try DamageRun(fixture.bytes)
    // If the write of a slot is lost, the slot of the new file still exists.
    let codec = try fixture.bytes.withUnsafeBytes { try FileHeader.decode(from: $0).codec }
    for place in 0..<2 {
      let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 8)
      defer { block.deallocate() }
      RootSlot(generation: UInt64(place), time: 1_700_000_000_000_000).encode(into: block, codec: codec)
      let start = 8192 + place * 4096
      let outcome = try empty.open { volume in
        for at in 0..<64 where block[at] != fixture.bytes[start + at] {
          try volume.corrupt(CrashScript.path, at: start + at, xor: block[at] ^ fixture.bytes[start + at])
        }
      }
      empty.judge(outcome, right: [fixture.newest], "\(fixture.testDescription), an old slot at \(start)")
    }
  }

  @Test func `a frame from another history of the same file is noticed`() throws {
    // A copy of the file with other commits: each frame is valid by itself and at the right offset.
    let volume = SimulatedVolume()
    try CrashScript.open(volume).close()
    let start = try volume.liveBytes(of: CrashScript.path)
    func history(_ values: [UInt8]) throws -> DamageFixture {
      let commits = values.map { value in
        [CrashScript.Operation.put("a", key: [1], value: [UInt8](repeating: value, count: 20))]
      }
      return try DamageFixture("", [], checkpoint: false, commits, closes: false, from: start)
    }
    let fixture = try history([1, 2, 3])
    let other = try history([1, 9, 8])
    let run = try DamageRun(fixture.bytes)
    #expect(fixture.structures == other.structures)
    // Otherwise every checksum would differ, and the test would show nothing.
    #expect(fixture.bytes[..<8192] == other.bytes[..<8192])
    for range in fixture.structures {
      let outcome = try run.open { volume in
        for at in range where fixture.bytes[at] != other.bytes[at] {
          try volume.corrupt(CrashScript.path, at: at, xor: fixture.bytes[at] ^ other.bytes[at])
        }
      }
      run.judge(outcome, right: [fixture.newest], "the frame at \(range)")
    }
    #expect(run.errors > 0)
  }
}
