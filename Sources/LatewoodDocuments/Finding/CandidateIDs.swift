import LatewoodBytes

/// The documents in a part of an index that has few entries, all with equal keys.
struct CandidateMatch {
  let part: CandidateIndex
  /// The ids, in order.
  let ids: CandidateIDs
}

/// The ids of a few documents, in one array.
struct CandidateIDs {
  /// The ids, each preceded by its length in four bytes.
  private var bytes: [UInt8] = []
  private(set) var count = 0

  /// The number of entries that can be read in about the time of a count.
  static let limit = 16
  /// The usual total length.
  private static let usualLength = 64

  mutating func append(_ id: UnsafeRawBufferPointer) {
    if bytes.isEmpty { bytes.reserveCapacity(CandidateIDs.usualLength) }
    withUnsafeBytes(of: UInt32(truncatingIfNeeded: id.count).littleEndian) { bytes.append(bytes: $0) }
    bytes.append(bytes: id)
    count += 1
  }

  /// Calls a closure with each id, in the order of addition, until it returns false, and returns
  /// false in that case.
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
