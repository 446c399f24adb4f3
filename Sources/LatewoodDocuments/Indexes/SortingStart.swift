extension Sequence<UInt8> {
  /// The first eight bytes as a big-endian number, padded with zeros.
  ///
  /// If the numbers of two sequences differ, the one with the smaller number sorts first. The bytes
  /// have to be compared only if the numbers are equal.
  var sortingStart: UInt64 {
    var start: UInt64 = 0
    var rest = 64
    for byte in self {
      rest -= 8
      start |= UInt64(byte) &<< UInt64(rest)
      if rest == 0 { break }
    }
    return start
  }
}

extension UnsafeRawBufferPointer {
  /// The first eight bytes as a big-endian number, padded with zeros; usually a single load.
  var sortingStart: UInt64 {
    if count >= 8 { return UInt64(bigEndian: loadUnaligned(as: UInt64.self)) }
    var start: UInt64 = 0
    for (index, byte) in enumerated() { start |= UInt64(byte) &<< UInt64(56 &- 8 &* index) }
    return start
  }
}
