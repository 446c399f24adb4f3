import LatewoodBytes

/// A member name for lookups in many dictionaries. Its first bytes are kept as a number, which
/// distinguishes it from most keys in one comparison.
package struct FleeceName: Sendable {
  /// The name, in contiguous UTF-8.
  package let text: String
  /// The number of bytes.
  let count: Int
  /// The first eight bytes as a big-endian number; missing bytes count as zero.
  let start: UInt64

  package init(_ text: String) {
    var text = text
    (count, start) = text.withUTF8 { bytes in
      let bytes = UnsafeRawBufferPointer(bytes)
      return (bytes.count, bytes.baseAddress.map { FleeceName.start(of: bytes, end: $0 + bytes.count) } ?? 0)
    }
    // The text is contiguous at this point.
    self.text = text
  }

  /// The first byte; 0 if the name is empty.
  @inline(__always) package var first: UInt8 { UInt8(truncatingIfNeeded: start &>> 56) }

  /// Calls `body` with the bytes of the name.
  package func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    let result = text.utf8.withContiguousStorageIfAvailable { bytes in
      Result { () throws(E) in try body(UnsafeRawBufferPointer(bytes)) }
    }
    if let result { return try result.get() }
    return try Array(text.utf8).withUnsafeBytes { bytes in
      Result { () throws(E) in try body(bytes) }
    }.get()
  }

  /// Returns a number less than, equal to or greater than zero if a key sorts before, equals, or
  /// sorts after this name.
  ///
  /// - Parameter end: the end of the bytes that the key is in.
  @inline(__always) func order(of key: UnsafeRawBufferPointer, end: UnsafeRawPointer) -> Int {
    let word = FleeceName.start(of: key, end: end)
    if word != start { return word < start ? -1 : 1 }
    // One of the keys has at most eight bytes, and these agree, so the shorter key is a prefix of
    // the longer one and sorts first.
    if count <= 8 || key.count <= 8 { return key.count &- count }
    return withBytes { FleeceDictionary.order(key, $0) }
  }

  /// - Parameter end: the end of the bytes that the key is in.
  @inline(__always) fileprivate static func start(of key: UnsafeRawBufferPointer, end: UnsafeRawPointer)
    -> UInt64
  {
    guard let base = key.baseAddress, !key.isEmpty else { return 0 }
    // SAFETY: the key lies within the bytes, and bytes after the key are read only if they lie
    // before `end`.
    if end - base >= 8 {
      let word = base.u64(0).byteSwapped
      return key.count >= 8 ? word : word & ~(UInt64.max &>> UInt64(8 &* key.count))
    }
    let count = key.count
    if count >= 8 { return base.u64(0).byteSwapped }
    if count >= 4 {
      // Two halves, which overlap and agree where they do.
      let last = UInt64(base.u32(count &- 4).byteSwapped) &<< UInt64(64 &- 8 &* count)
      return UInt64(base.u32(0).byteSwapped) &<< 32 | last
    }
    var word = UInt64(base.u8(0)) &<< 56
    if count > 1 { word |= UInt64(base.u8(1)) &<< 48 }
    if count > 2 { word |= UInt64(base.u8(2)) &<< 40 }
    return word
  }
}

extension FleeceName: Hashable {
  /// Whether the names have the same bytes.
  package static func == (left: FleeceName, right: FleeceName) -> Bool {
    left.start == right.start && left.count == right.count
      && (left.count <= 8
        || left.withBytes { left in right.withBytes { right in FleeceDictionary.order(left, right) == 0 } })
  }

  package func hash(into hasher: inout Hasher) { withBytes { hasher.combine(bytes: $0) } }
}

extension FleeceDictionary {
  /// Returns the value of the member with a name; nil if there is none. O(log n).
  package func value(for name: FleeceName) throws(FleeceError) -> FleeceValue? {
    try inherited { (level, first) throws(FleeceError) in
      try FleeceDictionary.find(name, in: level, from: first)
    }
  }

  @inline(__always) private static func find(
    _ name: FleeceName, in items: FleeceItems, from first: Int
  ) throws(FleeceError) -> FleeceValue? {
    let end = items.start + items.length
    var low = first
    var high = items.slots / 2
    while low < high {
      let middle = (low &+ high) &>> 1
      let key = try items[2 &* middle]
      let order: Int
      if key.tag == .string {
        order = name.order(of: try key.counted(), end: end)
      } else {
        // Integers sort before strings. Other values are not keys.
        order = key.kind == .integer ? -1 : name.order(of: try items.key(2 &* middle), end: end)
      }
      if order == 0 { return try items[2 &* middle &+ 1] }
      if order < 0 { low = middle &+ 1 } else { high = middle }
    }
    return nil
  }
}

extension FleeceItems {
  /// Returns the value of a key in the items of a dictionary that does not inherit; nil if there is
  /// none, or an undefined one. O(log n). Cheaper than making a `FleeceName` for one lookup.
  func value(for key: UnsafeRawBufferPointer) throws(FleeceError) -> FleeceValue? {
    guard let base = key.baseAddress else { return nil }
    let word = FleeceName.start(of: key, end: base + key.count)
    let end = start + length
    var low = 0
    var high = slots / 2
    while low < high {
      let middle = (low &+ high) &>> 1
      let other = try self.key(2 &* middle)
      let otherWord = FleeceName.start(of: other, end: end)
      if otherWord == word {
        // As above.
        let order =
          key.count <= 8 || other.count <= 8
          ? other.count &- key.count : FleeceDictionary.order(other, key)
        if order == 0 {
          let value = try self[2 &* middle &+ 1]
          return value.isUndefined ? nil : value
        }
        if order < 0 { low = middle &+ 1 } else { high = middle }
      } else if otherWord < word {
        low = middle &+ 1
      } else {
        high = middle
      }
    }
    return nil
  }
}
