import LatewoodBytes

/// A position in a text: lines, and columns in Unicode scalars, both counted from 1.
package struct TextPosition: Sendable, Equatable {
  package private(set) var line = 1
  package private(set) var column = 1

  package init() {}

  /// Moves the position behind a part of the text.
  package mutating func pass(_ text: UnsafeRawBufferPointer) {
    text.withStart { start, count in
      var at = 0
      // SAFETY: reads stay before `count`.
      while at &+ 8 <= count {
        let word = start.u64(at)
        if Self.hasLineFeed(word) {
          for offset in at..<at &+ 8 { pass(start.u8(offset)) }
        } else {
          let continuations = word & ~(word &<< 1) & 0x8080_8080_8080_8080
          column &+= 8 &- continuations.nonzeroBitCount
        }
        at &+= 8
      }
      while at < count {
        pass(start.u8(at))
        at &+= 1
      }
    }
  }

  /// Moves the position behind one byte.
  @inline(__always) package mutating func pass(_ byte: UInt8) {
    if byte == UInt8(ascii: "\n") {
      line &+= 1
      column = 1
    } else if byte & 0xC0 != 0x80 {
      column &+= 1
    }
  }

  @inline(__always) private static func hasLineFeed(_ word: UInt64) -> Bool {
    let other = word ^ 0x0A0A_0A0A_0A0A_0A0A
    return (other &- 0x0101_0101_0101_0101) & ~other & 0x8080_8080_8080_8080 != 0
  }
}
