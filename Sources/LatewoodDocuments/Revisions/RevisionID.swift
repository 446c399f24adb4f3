/// The name of a revision: the number of edits that led to it, and a digest of the last of them.
///
/// The text form is `generation-digest`: `3-01c0ffee…`. The digests created here are lowercase
/// hexadecimal digits. Digests of other databases may be any text of 1 to 46 bytes of UTF-8 without
/// control characters: `1-5ac`, `1-5AC` and `1-abc-def` are three different revisions.
///
/// Ordered by generation, then by the text of the digest, byte by byte; this order decides between
/// conflicting revisions and is the same in every replica. CouchDB has the same order, except that
/// it compares a digest of 32 hexadecimal digits as 16 bytes with the texts of others. It also
/// treats such digits in uppercase as the same revision, and refuses other texts of 32 characters;
/// here each of these is a different revision.
package struct RevisionID: Sendable, Hashable {
  /// The number of edits, at least 1.
  package let generation: UInt64
  package let digest: RevisionDigest

  /// The greatest generation that a history may have. Documents are never edited that often, and
  /// later edits can still count further.
  package static let maximumGeneration: UInt64 = 1 << 48

  package init(generation: UInt64, digest: RevisionDigest) {
    self.generation = generation
    self.digest = digest
  }

  /// Parses the text form; accepts only results of ``description``.
  ///
  /// - Throws: ``DatabaseError`` `badRevisionID`.
  package init(_ text: some StringProtocol) throws(DatabaseError) {
    let bytes = Array(text.utf8)
    guard let (generation, rest) = RevisionID.parse(bytes) else {
      throw DatabaseError(.badRevisionID, "\"\(text.prefix(80))\" is not a revision id")
    }
    guard let digest = RevisionDigest(text: rest) else {
      throw DatabaseError(
        .badRevisionID,
        rest.count > RevisionDigest.maximumTextCount
          ? "the digest of the revision id \"\(text.prefix(80))\" has \(rest.count) bytes; at most "
            + "\(RevisionDigest.maximumTextCount) are possible, or 64 lowercase hexadecimal digits"
          : "the digest of a revision id is empty or has control characters")
    }
    self.init(generation: generation, digest: digest)
  }

  /// Returns the generation, and the text of the digest.
  private static func parse(_ text: [UInt8]) -> (UInt64, ArraySlice<UInt8>)? {
    guard let dash = text.firstIndex(of: UInt8(ascii: "-")), let first = text.first, dash <= 15,
      first != UInt8(ascii: "0")
    else { return nil }
    var generation: UInt64 = 0
    for byte in text[..<dash] {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
      generation = generation * 10 + UInt64(byte - UInt8(ascii: "0"))
    }
    guard generation >= 1, generation <= maximumGeneration else { return nil }
    return (generation, text[(dash + 1)...])
  }
}

extension RevisionID: Comparable {
  package static func < (a: RevisionID, b: RevisionID) -> Bool {
    a.generation == b.generation ? a.digest < b.digest : a.generation < b.generation
  }
}

extension RevisionID: CustomStringConvertible {
  package var description: String {
    // SAFETY: a number of 64 bits has at most 20 digits and the text of a digest at most 64 bytes,
    // and only written bytes are counted.
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
      return count + digest.writeText(to: text[count...])
    }
  }
}
