extension Sequence<UInt8> {
  /// The number that these bytes encode, the most significant first. If there are more bytes than
  /// the number has, only the last ones are used.
  package func bigEndian<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) -> Number {
    reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
  }
}

extension FixedWidthInteger {
  /// The bytes of the number, the most significant first.
  package var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
