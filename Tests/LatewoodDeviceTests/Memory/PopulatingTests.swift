import LatewoodBytes
import LatewoodSimulation
import Testing

@testable import LatewoodDevice

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Mappings with unavailable pages, which would end the process if touched.
@Suite struct PopulatingTests {
  private let directory: TemporaryDirectory
  init() throws { directory = try TemporaryDirectory() }

  @Test func `unavailable bytes are an error with their offset, before they are touched`() throws {
    let path = directory("a")
    let device = try FileVolume().open(path, .createExclusive(permissions: 0o600))
    try [UInt8](repeating: 7, count: 100_000).withUnsafeBytes { try device.write($0, at: 0) }
    let space = try device.map(capacity: 1 << 20)
    let bytes = { (range: Range<Int>) in
      UnsafeRawBufferPointer(start: space.base + range.lowerBound, count: range.count)
    }
    for range in [0..<1, 0..<100_000, 4095..<4097, 99_999..<100_000, 5000..<5000] {
      try device.makeReadable(bytes(range), at: UInt64(range.lowerBound))
      #expect(bytes(range).allSatisfy { $0 == 7 })
    }
    // Another process truncates the file.
    #expect(truncate(path, 10_000) == 0)
    try device.makeReadable(bytes(0..<10_000), at: 0)
    let error = fault { try device.makeReadable(bytes(5000..<50_000), at: 5000) }
    #expect(error?.kind == .inputOutput)
    #expect(error?.offset == 10_000)
    device.close()
    try device.makeReadable(bytes(0..<10_000), at: 0)
  }

  #if os(Linux)
    @Test func `residency is checked without reading, and excludes holes and a truncated end`() throws {
      let path = directory("a")
      let device = try FileVolume().open(path, .createExclusive(permissions: 0o600))
      try [UInt8](repeating: 7, count: 100_000).withUnsafeBytes { try device.write($0, at: 0) }
      try [UInt8](repeating: 7, count: 100_000).withUnsafeBytes { try device.write($0, at: 1 << 20) }
      try device.sync()
      let space = try device.map(capacity: 2 << 20)
      let isInMemory = { (range: Range<Int>) in
        device.isInMemory(UnsafeRawBufferPointer(start: space.base + range.lowerBound, count: range.count))
      }
      for range in [0..<1, 0..<100_000, 4095..<4097, 50_000..<50_000, 1 << 20..<(1 << 20) + 100_000] {
        #expect(isInMemory(range))
      }
      #expect(!isInMemory(0..<200_000))
      #expect(!isInMemory(150_000..<150_001))
      #expect(!isInMemory(0..<(1 << 20) + 1))
      device.dropCache(0..<100_000)
      #expect(!isInMemory(0..<100_000))
      try device.makeReadable(.init(start: space.base, count: 100_000), at: 0)
      #expect(isInMemory(0..<100_000))
      #expect(truncate(path, 50_000) == 0)
      #expect(!isInMemory(0..<100_000))
      device.close()
    }

    @Test func `a random read loads only its page, and a request loads its whole range`() throws {
      let path = directory("a")
      let device = try FileVolume().open(path, .createExclusive(permissions: 0o600))
      let length = 1 << 20
      try [UInt8](repeating: 7, count: length).withUnsafeBytes { try device.write($0, at: 0) }
      try device.sync()
      device.dropCache(0..<UInt64(length))
      let space = try device.map(capacity: UInt64(length))
      let page = Int(SystemCalls.pageLength)
      let isInMemory = { (range: Range<Int>) in
        device.isInMemory(UnsafeRawBufferPointer(start: space.base + range.lowerBound, count: range.count))
      }
      device.expectRandomReads(of: space, length: UInt64(length))
      #expect(space.base.load(fromByteOffset: 64 * page, as: UInt8.self) == 7)
      #expect(isInMemory(64 * page..<65 * page))
      for neighbour in [63, 65] { #expect(!isInMemory(neighbour * page..<(neighbour + 1) * page)) }
      device.readAhead(UInt64(100 * page)..<UInt64(200 * page))
      #expect(Patience.wait { isInMemory(100 * page..<200 * page) })
      #expect(!isInMemory(90 * page..<91 * page))
      device.close()
    }

    @Test func `a user who does not own a file cannot see what part of it is in memory`() throws {
      let path = directory("a")
      let device = try FileVolume().open(path, .createExclusive(permissions: 0o644))
      try [UInt8](repeating: 7, count: 10_000).withUnsafeBytes { try device.write($0, at: 0) }
      let space = try device.map(capacity: 1 << 20)
      #expect(device.isInMemory(.init(start: space.base, count: 10_000)))
      // Only the superuser can change the owner of a file.
      guard getuid() == 0 else { return }
      #expect(chown(path, 12_345, 12_345) == 0)
      let other = try FileVolume().open(path, .readOnly)
      let mapped = try other.map(capacity: 1 << 20)
      #expect(!other.isInMemory(.init(start: mapped.base, count: 10_000)))
      try other.makeReadable(.init(start: mapped.base, count: 10_000), at: 0)
      other.close()
      device.close()
    }
  #endif
}
