import LatewoodBytes

/// A message authentication code of 128 bits, compared in constant time.
package struct AuthenticationTag: Sendable {
  /// The bytes 0 to 7, little-endian.
  package let low: UInt64
  /// The bytes 8 to 15, little-endian.
  package let high: UInt64

  package static let size = 16

  package init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  /// Reads the 16 bytes that begin at `start`.
  package init(at start: UnsafeRawPointer) {
    self.init(low: start.u64(0), high: start.u64(8))
  }

  /// Writes the 16 bytes to `target`.
  package func write(to target: UnsafeMutableRawPointer) {
    target.set(low, at: 0)
    target.set(high, at: 8)
  }
}

extension AuthenticationTag: Equatable {
  /// Compares all bits before it branches, so the time does not reveal how many of them match.
  package static func == (left: AuthenticationTag, right: AuthenticationTag) -> Bool {
    ((left.low ^ right.low) | (left.high ^ right.high)) == 0
  }
}
