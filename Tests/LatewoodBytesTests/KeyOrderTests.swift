import LatewoodBytes
import Testing

@Suite("KeyOrder")
struct KeyOrderTests {
  /// Keys that differ late, early, in the top bit, and in length only.
  static let keys: [[UInt8]] = {
    var keys: [[UInt8]] = [[]]
    for count in [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24] {
      for fill in [0x00, 0x41, 0x80, 0xFF] as [UInt8] {
        let key = [UInt8](repeating: fill, count: count)
        keys.append(key)
        for place in Set([0, count / 2, count - 1]) {
          for byte in [0x00, 0x7F, 0x80, 0xFF] as [UInt8] {
            var other = key
            other[place] = byte
            keys.append(other)
          }
        }
      }
    }
    return keys
  }()

  func withKeys<Result>(
    _ a: [UInt8], _ b: [UInt8], _ body: (UnsafeRawPointer, UnsafeRawPointer) -> Result
  ) -> Result? {
    // Different bytes after the ends reveal a comparison that reads too far.
    (a + [1]).withUnsafeBytes { x in
      (b + [2]).withUnsafeBytes { y in
        guard let first = x.baseAddress, let second = y.baseAddress else { return nil }
        return body(first, second)
      }
    }
  }

  @Test func `keys compare as unsigned bytes, with a prefix first`() {
    for a in KeyOrderTests.keys {
      for b in KeyOrderTests.keys {
        let order = withKeys(a, b) { KeyOrder.compare($0, a.count, $1, b.count) }
        let naive = a.lexicographicallyPrecedes(b) ? -1 : b.lexicographicallyPrecedes(a) ? 1 : 0
        if order?.signum() != naive { Issue.record("\(a) against \(b): \(String(describing: order))") }
        let prefix = withKeys(a, b) { KeyOrder.commonPrefix($0, a.count, $1, b.count) }
        if prefix != zip(a, b).prefix(while: { $0 == $1 }).count {
          Issue.record("common prefix of \(a) and \(b)")
        }
      }
    }
  }

  @Test func `the head of a key is its first four bytes as a number, padded with zeros`() {
    for key in KeyOrderTests.keys {
      let naive = (key + [0, 0, 0, 0]).prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      #expect(withKeys(key, key) { first, _ in KeyOrder.head(first, key.count) } == naive)
    }
  }
}
