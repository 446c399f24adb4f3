import LatewoodBytes
import Testing

@Suite("Varint")
struct VarintTests {
  static let values: [UInt64] =
    (0..<64).flatMap { bit in
      let power = UInt64(1) << UInt64(bit)
      return [power &- 1, power, power &+ 1]
    } + [.max, .max - 1]

  func read(_ bytes: [UInt8]) -> (value: UInt64, length: Int)? {
    // A byte beyond the end that would continue the number reveals a read past it.
    (bytes + [0x01]).withUnsafeBytes { raw in
      raw.baseAddress.flatMap { Varint.read($0, end: $0 + bytes.count) }
    }
  }

  @Test func `every number round-trips in the predicted number of bytes`() {
    for value in VarintTests.values {
      var bytes = [UInt8](repeating: 0xAA, count: 12)
      let written = bytes.withUnsafeMutableBytes { raw in
        raw.baseAddress.map { Varint.write(value, to: $0) } ?? 0
      }
      #expect(written == Varint.length(value))
      #expect(bytes[written] == 0xAA, "wrote past the end of \(value)")
      let back = read(Array(bytes[..<written]))
      #expect(back?.value == value)
      #expect(back?.length == written)
      let trusted = bytes.withUnsafeBytes { raw in raw.baseAddress.map { Varint.readTrusted($0) } }
      #expect(trusted?.value == value)
      #expect(trusted?.length == written)
      for shorter in 0..<written {
        #expect(read(Array(bytes[..<shorter])) == nil, "read \(value) from \(shorter) bytes")
      }
    }
  }

  @Test(
    arguments: [
      [0x80, 0x00], [0xFF, 0x00], [0x80, 0x80, 0x00],
      [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02],
      [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
      [UInt8](repeating: 0xFF, count: 10), [UInt8](repeating: 0x80, count: 11), [],
    ] as [[UInt8]]) func `overlong, oversized and unterminated numbers are rejected`(_ bytes: [UInt8])
  {
    #expect(read(bytes) == nil)
  }
}
