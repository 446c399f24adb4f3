import Testing

@testable import LatewoodBytes

/// Searches for a byte, compared with a plain loop.
@Suite struct ByteSearchTests {
  @Test(arguments: [0, 0x2D, 0x7F, 0x80, 0xFF] as [UInt8])
  func `a byte is found at every offset`(byte: UInt8) {
    // Neighbours of the value: a carry or a borrow could make one of these look like a match.
    for other in [byte &+ 1, byte &- 1, byte ^ 0x80, 0x41] {
      for count in Array(0...33) + [63, 64, 65] {
        for place in 0...count {
          var bytes = [UInt8](repeating: other, count: count)
          if place < count { bytes[place] = byte }
          if place + 2 < count { bytes[place + 2] = byte }
          for start in 0...count {
            let expected = bytes[start...].firstIndex(of: byte) ?? count
            let found = bytes.withUnsafeBytes {
              $0.baseAddress?.firstOffset(of: byte, from: start, before: count)
            }
            #expect(found ?? count == expected)
          }
        }
      }
    }
  }
}
