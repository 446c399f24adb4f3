import LatewoodBytes
import LatewoodDevice
import Testing

@testable import LatewoodFile

/// The addresses that mappings of a file take, and their lifetime.
struct MappedFileTests {
  private static let least = Reservation.least

  @Test func `address space is reserved in proportion to the file`() {
    for end in [0, 1, 16384, 1 << 19, (1 << 19) + 1, 1 << 20, 100 << 20, (1 << 40) + 1] as [UInt64] {
      let capacities = Reservation.capacities(covering: end)
      #expect(capacities[0] >= end + end / 4, "\(end)")
      #expect(capacities[0] <= max(end + end / 4 + 65536, Self.least), "\(end)")
      let repeated = Reservation.capacities(covering: end, isRepeated: true)
      #expect(repeated[0] >= capacities[0] && repeated[0] < max(2 * capacities[0], Self.least + 1), "\(end)")
      #expect(
        repeated[0] & (repeated[0] - 1) == 0 && Array(repeated.suffix(2)).allSatisfy { $0 >= end }, "\(end)")
      for (before, next) in zip(capacities, capacities.dropFirst()) { #expect(before >= next) }
      for capacity in capacities { #expect(capacity >= end && capacity % 65536 == 0) }
      #expect(capacities[capacities.count - 1] < max(end + 65536, Self.least + 1))
    }
    #expect(Reservation.capacities(covering: .max).isEmpty)
    #expect(Reservation.capacities(covering: 1 << 44).isEmpty)
    #expect(Reservation.capacities(covering: 100, ahead: 3 << 20) == [3_997_696, 3_211_264])
    #expect(
      Reservation.capacities(covering: 100, ahead: 3 << 20, isRepeated: true)
        == [4 << 20, 3_997_696, 3_211_264])
  }

  @Test func `an outgrown mapping stays in place and keeps its proofs`() throws {
    let volume = MemoryVolume()
    let device = try volume.open("a", .createExclusive(permissions: 0o600))
    try [UInt8](repeating: 7, count: 1000).withUnsafeBytes { try device.write($0, at: 0) }
    let mapping = try MappedFile(device, covering: 1000)
    let first = mapping.space
    #expect(first.capacity == Self.least)
    let view = FileView(base: first.base, verified: first.verified, codec: UnitCodec(seed: 1), limit: 1000)
    view.markVerified(128, 64, FileView.Proof.node)
    // Exactly its capacity, and one more byte.
    #expect(try mapping.grown(toCover: Self.least) === first)
    let second = try mapping.grown(toCover: Self.least + 1)
    #expect(second !== first && mapping.space === second && second.capacity == 2 << 20)
    try [9].withUnsafeBytes { try device.write($0, at: Self.least) }
    try [8].withUnsafeBytes { try device.write($0, at: 500) }
    for space in [first, second] { #expect(space.base.u8(500) == 8) }
    #expect(second.base.u8(Int(Self.least)) == 9)
    let next = FileView(base: second.base, verified: second.verified, codec: UnitCodec(seed: 1), limit: 1000)
    #expect(next.isVerified(128, FileView.Proof.node))
    #expect(!next.isVerified(128, FileView.Proof.extent) && !next.isVerified(192, FileView.Proof.node))
    device.close()
    #expect(faultKind { _ = try mapping.grown(toCover: 1 << 30) } == .closed)
  }

  /// Other mappings may take the addresses behind it at any time. In that case the larger mapping
  /// has another address.
  @Test func `a mapping grows in place if the addresses behind it are free`() throws {
    let directory = try Directories.makeTemporary("latewood-test")
    defer { #expect(throws: Never.self) { try Directories.removeTree(directory) } }
    let device = try FileVolume().open("\(directory)/a", .createExclusive(permissions: 0o600))
    try [UInt8](repeating: 7, count: 1000).withUnsafeBytes { try device.write($0, at: 0) }
    let mapping = try MappedFile(device, covering: 1000)
    let first = mapping.space
    FileView(base: first.base, verified: first.verified, codec: UnitCodec(seed: 1), limit: 1000)
      .markVerified(128, 64, FileView.Proof.node)
    var grown: [AddressSpace] = []
    for megabytes in [1, 2, 7, 40] as [UInt64] {
      let end = megabytes << 20
      try [UInt8(megabytes)].withUnsafeBytes { try device.write($0, at: end) }
      let space = try mapping.grown(toCover: end + 1)
      #expect(space.capacity > end && space.base.u8(Int(end)) == UInt8(megabytes))
      let view = FileView(base: space.base, verified: space.verified, codec: UnitCodec(seed: 1), limit: end)
      #expect(view.isVerified(128, FileView.Proof.node) && !view.isVerified(192, FileView.Proof.node))
      grown.append(space)
    }
    #if os(Linux) && _pointerBitWidth(_64)
      #expect(grown.allSatisfy { $0.base == first.base })
    #endif
    device.close()
    #expect(faultKind { _ = try mapping.grown(toCover: 1 << 30) } == .closed)
  }

  @Test func `a file is mapped again elsewhere if the addresses behind it are taken`() throws {
    let directory = try Directories.makeTemporary("latewood-test")
    defer { #expect(throws: Never.self) { try Directories.removeTree(directory) } }
    let device = try FileVolume().open("\(directory)/a", .createExclusive(permissions: 0o600))
    try [7].withUnsafeBytes { try device.write($0, at: 0) }
    let mapping = try MappedFile(device, covering: 1)
    let first = mapping.space
    // The addresses behind it hold another mapping of the same file, because any other mapping
    // could disappear at any time.
    let neighbour = try device.extend(first, capacity: first.capacity + 65536)
    let second = try mapping.grown(toCover: first.capacity + 1)
    if neighbour != nil { #expect(second.base != first.base) }
    #expect(second.capacity >= 2 * first.capacity)
    #expect(first.base.u8(0) == 7 && second.base.u8(0) == 7)
    withExtendedLifetime(neighbour) {}
    device.close()
  }

  @Test func `a file still grows when the system is short of addresses`() throws {
    let bench = try LogBench()
    let log = try bench.open().log
    for number in 0..<5 {
      // The system grants less than twice the file, but as much as needed.
      bench.volume.plan.withLock { $0.capacity = (log.writer.tail + (6 << 20)) & ~65535 }
      try log.commit([("key\(number)", [UInt8](repeating: UInt8(number), count: 1 << 20))])
    }
    let tail = log.writer.tail
    bench.volume.plan.withLock { $0.capacity = tail & ~65535 }
    #expect(
      faultKind { for _ in 0..<8 { try log.commit([("filler", [UInt8](repeating: 1, count: 1 << 20))]) } }
        == .outOfMemory)
    log.writer.abortTransaction()
    // The disk has not failed: acknowledged commits still exist, and the log continues once
    // addresses are available.
    bench.volume.plan.withLock { $0.capacity = nil }
    try log.commit([("yes", [1])])
    log.close()
    let entries = try bench.read().entries
    #expect(entries["key4"]?.count == 1 << 20 && entries["yes"] == [1])
  }

  /// A bit of the bitmap stands for 64 bytes, in which several values may begin.
  @Test func `a verified value does not make a value beside it count as verified`() throws {
    let volume = MemoryVolume()
    let device = try volume.open("a", .createExclusive(permissions: 0o600))
    try [UInt8](repeating: 7, count: 20_000).withUnsafeBytes { try device.write($0, at: 0) }
    let space = try MappedFile(device, covering: 20_000).space
    let view = FileView(base: space.base, verified: space.verified, codec: UnitCodec(seed: 1), limit: 20_000)
    func checksum(_ count: Int) -> UInt32 {
      [UInt8](repeating: 7, count: count).withUnsafeBytes {
        UInt32(truncatingIfNeeded: XXH64.hash($0, seed: 1))
      }
    }
    for (first, length) in [(30, 30), (63, 1), (1, 63)] as [(UInt64, UInt64)] {
      _ = try view.extent(offset: 16384, length: first, checksum: checksum(Int(first)))
      _ = try view.extent(offset: 16384 + first, length: length, checksum: checksum(Int(length)))
      #expect(
        faultKind { _ = try view.extent(offset: 16384 + first, length: length, checksum: 1) } == .damaged)
    }
    // The bit of a long value does not affect the short value before it, or the reverse.
    for (index, (short, long)) in zip(1..., [(1, 64), (63, 64), (20, 500)] as [(UInt64, UInt64)]) {
      let (start, next) = (16384 + UInt64(index) * 1024, 16384 + UInt64(index) * 1024 + short)
      _ = try view.extent(offset: start, length: short, checksum: checksum(Int(short)))
      #expect(faultKind { _ = try view.extent(offset: next, length: long, checksum: 1) } == .damaged)
      _ = try view.extent(offset: next, length: long, checksum: checksum(Int(long)))
      #expect(faultKind { _ = try view.extent(offset: start, length: short, checksum: 1) } == .damaged)
    }
    // No two values of this length begin in the same 64 bytes.
    _ = try view.extent(offset: 16448, length: 64, checksum: checksum(64))
    _ = try view.extent(offset: 16448, length: 64, checksum: 1)
    // An empty value has a checksum, too.
    _ = try view.extent(offset: 16384, length: 0, checksum: checksum(0))
    #expect(faultKind { _ = try view.extent(offset: 16384, length: 0, checksum: 1) } == .damaged)
    device.close()
  }
}
