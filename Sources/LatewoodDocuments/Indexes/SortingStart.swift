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
