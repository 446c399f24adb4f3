import LatewoodBytes

/// The documents in a part of an index that has few entries, all with equal keys.
struct ShortMatch {
  let part: IndexPart
  /// In order.
  let ids: ShortIDList
}

/// The ids of a few documents, in one piece of memory.
struct ShortIDList {
  /// Before each id its length, in four bytes.
  private var bytes: [UInt8] = []
  private(set) var count = 0

  /// The number of entries that are read in about the time of a count.
  static let limit = 16
  /// The number of bytes of ids that are usual in size and number.
  private static let usualLength = 64

  mutating func append(_ id: UnsafeRawBufferPointer) {
    if bytes.isEmpty { bytes.reserveCapacity(ShortIDList.usualLength) }
    withUnsafeBytes(of: UInt32(truncatingIfNeeded: id.count).littleEndian) { bytes.append(bytes: $0) }
    bytes.append(bytes: id)
    count += 1
  }

  /// Calls a closure with each id, in the order in which they were added, until it returns false.
  /// Returns whether it was called with all of them.
  @discardableResult
  func visit(_ body: (UnsafeRawBufferPointer) throws -> Bool) rethrows -> Bool {
    try bytes.withUnsafeBytes { bytes in
      var at = 0
      for _ in 0..<count {
        let start = at + MemoryLayout<UInt32>.size
        at = start + Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self)))
        if try !body(UnsafeRawBufferPointer(rebasing: bytes[start..<at])) { return false }
      }
      return true
    }
  }
}
