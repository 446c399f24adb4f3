extension Sequence<UInt8> {
  /// The first eight bytes as a big-endian number, with zeros for those that are missing.
  ///
  /// If the numbers of two sequences differ, the one with the smaller number sorts first. The bytes
  /// themselves have to be compared only where the numbers are equal.
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
  /// The same for bytes in memory, most of the time in one step.
  var sortingStart: UInt64 {
    if count >= 8 { return UInt64(bigEndian: loadUnaligned(as: UInt64.self)) }
    var start: UInt64 = 0
    for (index, byte) in enumerated() { start |= UInt64(byte) &<< UInt64(56 &- 8 &* index) }
    return start
  }
}
