import LatewoodBytes

/// A key in two parts: a prefix that it shares with its neighbours in a node, and a suffix.
///
/// Keys read from nodes keep this form until they are needed contiguously. The pointers are valid
/// as long as the node.
package struct PrefixedKey {
  package var prefix: UnsafeRawPointer
  package var prefixCount: Int
  package var suffix: UnsafeRawPointer
  package var suffixCount: Int

  @inline(__always) package init(
    _ prefix: UnsafeRawPointer, _ prefixCount: Int, _ suffix: UnsafeRawPointer, _ suffixCount: Int
  ) {
    self.prefix = prefix
    self.prefixCount = prefixCount
    self.suffix = suffix
    self.suffixCount = suffixCount
  }

  /// Creates a key from contiguous bytes.
  @inline(__always) package init(_ key: UnsafeRawPointer, _ count: Int) {
    self.init(key, 0, key, count)
  }

  @inline(__always) package var count: Int { prefixCount &+ suffixCount }

  /// The first `length` bytes; `length` is at most `count`.
  @inline(__always) package func prefix(_ length: Int) -> PrefixedKey {
    length <= prefixCount
      ? PrefixedKey(prefix, length, suffix, 0)
      : PrefixedKey(prefix, prefixCount, suffix, length &- prefixCount)
  }

  /// Compares this key with `key`: the result is negative, zero or positive if this key is less
  /// than, equal to or greater than `key`.
  @inline(__always) package func compare(_ key: UnsafeRawPointer, _ keyCount: Int) -> Int {
    let shared = keyCount < prefixCount ? keyCount : prefixCount
    let order = KeyOrder.compare(prefix, shared, key, shared)
    if order != 0 { return order }
    if shared < prefixCount { return 1 }
    return KeyOrder.compare(suffix, suffixCount, key + shared, keyCount &- shared)
  }

  package func compare(_ other: PrefixedKey) -> Int {
    let common = commonPrefix(other)
    if common == count || common == other.count { return count &- other.count }
    return Int(byte(common)) &- Int(other.byte(common))
  }

  @inline(__always) package func byte(_ at: Int) -> UInt8 {
    at < prefixCount ? prefix.u8(at) : suffix.u8(at &- prefixCount)
  }

  /// The length of the longest common prefix of both keys.
  @inline(__always) package func commonPrefix(_ other: PrefixedKey) -> Int {
    if prefixCount == other.prefixCount, prefix == other.prefix {
      return prefixCount
        &+ KeyOrder.commonPrefix(suffix, suffixCount, other.suffix, other.suffixCount)
    }
    return commonPrefixOfPieces(other)
  }

  private func commonPrefixOfPieces(_ other: PrefixedKey) -> Int {
    // The two keys may be divided at different positions, so there are up to three stretches to
    // compare.
    var at = 0
    let shared = min(count, other.count)
    while at < shared {
      let (mine, mineCount) = stretch(from: at)
      let (theirs, theirsCount) = other.stretch(from: at)
      let length = min(mineCount, theirsCount)
      let common = KeyOrder.commonPrefix(mine, length, theirs, length)
      at &+= common
      if common < length { return at }
    }
    return at
  }

  @inline(__always) private func stretch(from at: Int) -> (UnsafeRawPointer, Int) {
    at < prefixCount
      ? (prefix + at, prefixCount &- at) : (suffix + (at &- prefixCount), suffixCount &- (at &- prefixCount))
  }

  /// Copies the bytes after the first `start` to `target`.
  @inline(__always) package func copy(from start: Int, to target: UnsafeMutableRawPointer) {
    if start >= prefixCount {
      let skipped = start &- prefixCount
      target.copyMemory(from: suffix + skipped, byteCount: suffixCount &- skipped)
    } else {
      let length = prefixCount &- start
      target.copyMemory(from: prefix + start, byteCount: length)
      (target + length).copyMemory(from: suffix, byteCount: suffixCount)
    }
  }

  /// The head of the key after its first `start` bytes.
  @inline(__always) package func head(from start: Int) -> UInt32 {
    if start >= prefixCount {
      let skipped = start &- prefixCount
      return KeyOrder.head(suffix + skipped, suffixCount &- skipped)
    }
    var head: UInt32 = 0
    for at in start..<(start &+ 4) {
      head = head &<< 8 | (at < count ? UInt32(byte(at)) : 0)
    }
    return head
  }

  /// A copy of the key.
  package var bytes: [UInt8] {
    // The initializer below would write to the empty array storage that all threads share, which
    // the thread sanitizer reports although it is harmless.
    if count == 0 { return [] }
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      if let start = buffer.baseAddress { copy(from: 0, to: UnsafeMutableRawPointer(start)) }
      initialized = count
    }
  }
}
