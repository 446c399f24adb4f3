extension [UInt8] {
  /// Whether these bytes precede others, compared as unsigned bytes with a proper prefix first:
  /// `lexicographicallyPrecedes`, but quick in debug builds, in which generic code is slow.
  package func isBefore(_ other: [UInt8]) -> Bool {
    withUnsafeBufferPointer { left in
      other.withUnsafeBufferPointer { right in
        let count = Swift.min(left.count, right.count)
        guard let a = left.baseAddress, let b = right.baseAddress else { return left.count < right.count }
        var at = 0
        while at < count {
          if a[at] != b[at] { return a[at] < b[at] }
          at += 1
        }
        return left.count < right.count
      }
    }
  }
}
