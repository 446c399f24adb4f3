import LatewoodBytes
import LatewoodSimulation
import Testing

@testable import LatewoodDevice

/// The parts of a file that are read because they are not large holes.
@Suite struct StoredRangesTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func ranges(_ device: any Device, _ range: Range<UInt64>) -> [Range<UInt64>] {
    var (walk, found) = (StoredRanges(of: device, in: range), [Range<UInt64>]())
    while let next = walk.next() { found.append(next) }
    return found
  }

  @Test func `everything that was written is in them, and little of large holes`() throws {
    let device = try FileVolume().open(directory("file"), newFile)
    let places: [UInt64] = [0, 5 << 20, 100 << 20, 101 << 20, 7 << 30, (7 << 30) + (17 << 20)]
    for place in places { try [1 as UInt8].withUnsafeBytes { try device.write($0, at: place) } }
    let size = try device.size()
    for range in [0..<size, 1..<size, 0..<(6 << 30), (50 << 20)..<(200 << 20), 1..<2, 8..<8] {
      let found = ranges(device, range)
      for place in places where range.contains(place) {
        #expect(found.contains { $0.contains(place) }, "\(range) \(place)")
      }
      for (one, next) in zip(found, found.dropFirst()) { #expect(one.upperBound < next.lowerBound) }
      #expect(
        found.allSatisfy { !$0.isEmpty && range.contains($0.lowerBound) && $0.upperBound <= range.upperBound }
      )
      guard try device.nextHole(from: 0) != nil else { continue }
      // Small holes are read as well: up to 16 MiB around each byte.
      #expect(found.reduce(0) { $0 + $1.count } < 64 << 20, "\(range)")
    }
  }

  @Test func `a file system that tells of no holes has one range`() throws {
    let device = try MemoryVolume().open("file", newFile)
    try [1 as UInt8].withUnsafeBytes { try device.write($0, at: 40 << 20) }
    #expect(try device.nextHole(from: 0) == nil)
    #expect(ranges(device, 10..<(40 << 20)) == [10..<(40 << 20)])
    var inMemory = StoredRanges(of: nil, in: 5..<9)
    #expect(inMemory.next() == 5..<9)
    #expect(inMemory.next() == nil)
  }
}
