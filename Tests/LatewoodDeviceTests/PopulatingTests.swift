import LatewoodBytes
import LatewoodDevice
import Testing

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

  @Test func `bytes that the file does not give are an error with their offset, before they are touched`()
    throws
  {
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
}
