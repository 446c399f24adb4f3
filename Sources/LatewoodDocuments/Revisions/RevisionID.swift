/// The name of a revision: the number of edits that led to it, and a digest of the last of them.
///
/// As text `generation-digest`, with the digest in lowercase hexadecimal digits: `3-01c0ffee…`.
/// Ordered by generation, then by the bytes of the digest; this order decides between conflicting
/// revisions and is the same in every replica.
package struct RevisionID: Sendable, Hashable {
  /// The number of edits, from 1.
  package let generation: UInt64
  package let digest: RevisionDigest

  /// The greatest generation that a history may have. No document is edited so often, and later
  /// edits still have room to count on.
  package static let maximumGeneration: UInt64 = 1 << 48

  package init(generation: UInt64, digest: RevisionDigest) {
    self.generation = generation
    self.digest = digest
  }

  /// Parses the text form; accepts only what ``description`` gives.
  ///
  /// - Throws: ``DocumentError`` `badRevision`.
  package init(_ text: some StringProtocol) throws(DocumentError) {
    guard let parsed = RevisionID.parse(Array(text.utf8)) else {
      throw DocumentError(.badRevision, "\"\(text.prefix(80))\" is not a revision id")
    }
    self = parsed
  }

  private static func parse(_ text: [UInt8]) -> RevisionID? {
    guard let dash = text.firstIndex(of: UInt8(ascii: "-")), let first = text.first, dash <= 15,
      first != UInt8(ascii: "0")
    else { return nil }
    var generation: UInt64 = 0
    for byte in text[..<dash] {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
      generation = generation * 10 + UInt64(byte - UInt8(ascii: "0"))
    }
    let digits = text[(dash + 1)...]
    guard generation >= 1, generation <= maximumGeneration, digits.count % 2 == 0,
      digits.count <= 2 * RevisionDigest.maximumCount
    else { return nil }
    var bytes: [UInt8] = []
    for pair in stride(from: digits.startIndex, to: digits.endIndex, by: 2) {
      guard let high = hexValue(digits[pair]), let low = hexValue(digits[pair + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    return RevisionDigest(bytes).map { RevisionID(generation: generation, digest: $0) }
  }

  private static func hexValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}

extension RevisionID: Comparable {
  package static func < (a: RevisionID, b: RevisionID) -> Bool {
    a.generation == b.generation ? a.digest < b.digest : a.generation < b.generation
  }
}

extension RevisionID: CustomStringConvertible {
  package var description: String {
    // SAFETY: a number of 64 bits has 20 digits at most and a digest 32 bytes, and only what was
    // written is counted.
    String(unsafeUninitializedCapacity: 21 + 2 * RevisionDigest.maximumCount) { text in
      var count = 0
      func append(_ byte: UInt8) {
        text[count] = byte
        count += 1
      }
      var (rest, scale): (UInt64, UInt64) = (generation, 1)
      while scale <= generation / 10 { scale *= 10 }
      while scale > 0 {
        append(UInt8(ascii: "0") + UInt8(rest / scale))
        (rest, scale) = (rest % scale, scale / 10)
      }
      append(UInt8(ascii: "-"))
      for index in 0..<digest.count {
        append(RevisionID.hexDigit(digest[index] >> 4))
        append(RevisionID.hexDigit(digest[index] & 15))
      }
      return count
    }
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}
