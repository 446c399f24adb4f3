import LatewoodBytes
import LatewoodDevice
import Testing

@testable import LatewoodFile

/// How many addresses a file takes, and who may use which.
struct MappedFileTests {
  private static let least = Reservation.least

  @Test func addressesAreReservedInProportionToTheFile() {
    for end in [0, 1, 16384, 1 << 19, (1 << 19) + 1, 1 << 20, 100 << 20, (1 << 40) + 1] as [UInt64] {
      let capacities = Reservation.capacities(covering: end)
      #expect(capacities[0] >= end + end / 4 && capacities[0] <= max(4 * end, Self.least), "\(end)")
      for (before, next) in zip(capacities, capacities.dropFirst()) { #expect(before >= next) }
      for capacity in capacities { #expect(capacity >= end && capacity % 65536 == 0) }
      #expect(capacities[capacities.count - 1] < max(end + 65536, Self.least + 1))
    }
    #expect(Reservation.capacities(covering: .max).isEmpty)
    #expect(Reservation.capacities(covering: 100, ahead: 3 << 20) == [4 << 20, 3_997_696, 3_211_264])
  }

  @Test func aMappingThatWasOutgrownStaysWhereItIsWithWhatWasProved() throws {
    let volume = MemoryVolume()
    let device = try volume.open("a", .createExclusive(permissions: 0o600))
    try [UInt8](repeating: 7, count: 1000).withUnsafeBytes { try device.write($0, at: 0) }
    let mapping = try MappedFile(device, covering: 1000)
    let first = mapping.space
    #expect(first.capacity == Self.least)
    let view = FileView(base: first.base, verified: first.verified, seed: 1, limit: 1000)
    view.markVerified(128, FileView.Proof.node)
    // Exactly what it has, and one more.
    #expect(try mapping.grown(toCover: Self.least) === first)
    let second = try mapping.grown(toCover: Self.least + 1)
    #expect(second !== first && mapping.space === second && second.capacity == 2 << 20)
    try [9].withUnsafeBytes { try device.write($0, at: Self.least) }
    try [8].withUnsafeBytes { try device.write($0, at: 500) }
    for space in [first, second] { #expect(space.base.u8(500) == 8) }
    #expect(second.base.u8(Int(Self.least)) == 9)
    let next = FileView(base: second.base, verified: second.verified, seed: 1, limit: 1000)
    #expect(next.isVerified(128, FileView.Proof.node))
    #expect(!next.isVerified(128, FileView.Proof.extent) && !next.isVerified(192, FileView.Proof.node))
    device.close()
    #expect(faultKind { _ = try mapping.grown(toCover: 1 << 30) } == .closed)
  }

  @Test func whereTheSystemIsShortOfAddressesTheFileStillGrows() throws {
    let bench = try LogBench()
    let log = try bench.open().log
    for number in 0..<5 {
      // Less than twice the file can be had, but what is needed can.
      bench.volume.plan.withLock { $0.capacity = (log.tail + (6 << 20)) & ~65535 }
      try log.commit([("key\(number)", [UInt8](repeating: UInt8(number), count: 1 << 20))])
    }
    let tail = log.tail
    bench.volume.plan.withLock { $0.capacity = tail & ~65535 }
    #expect(
      faultKind { for _ in 0..<8 { try log.commit([("filler", [UInt8](repeating: 1, count: 1 << 20))]) } }
        == .outOfMemory)
    log.abortTransaction()
    // It is no failure of the disk: what was acknowledged is there, and with addresses the log goes
    // on.
    bench.volume.plan.withLock { $0.capacity = nil }
    try log.commit([("yes", [1])])
    log.close()
    let entries = try bench.read().entries
    #expect(entries["key4"]?.count == 1 << 20 && entries["yes"] == [1])
  }
}
