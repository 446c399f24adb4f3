import LatewoodBytes
import LatewoodFleece

/// Finds the blobs that a body refers to: dictionaries `{"@type":"blob","digest":"sha256-…"}` at
/// any depth.
package enum BlobReferences {
  private static let mark = Array("sha256-".utf8)

  /// The digests in a body, each once, in the order of discovery; damaged parts are skipped.
  /// O(bytes).
  package static func find(in body: [UInt8]) -> [BlobDigest] { places(in: body).map(\.digest) }

  /// Like `find`, with the number of times that each digest occurs.
  package static func places(in body: [UInt8]) -> [(digest: BlobDigest, count: Int)] {
    // Nearly all bodies have no references, and a byte search shows this.
    guard mayHaveReference(body) else { return [] }
    var found: [(digest: BlobDigest, count: Int)] = []
    body.withUnsafeBytes { bytes in
      do throws(FleeceError) {
        try collect(
          try FleeceValue.root(of: bytes), limit: FleeceLimits.expansion(ofLength: body.count), &found)
      } catch {
        // Readers of the body report the damage.
      }
    }
    return found
  }

  /// Walks without recursion, so that depth does not use stack.
  ///
  /// - Parameter limit: the greatest number of values to visit. A value that is shared is visited
  ///   once for each reference.
  private static func collect(
    _ root: FleeceValue, limit: Int, _ found: inout [(digest: BlobDigest, count: Int)]
  ) throws(FleeceError) {
    var rest = limit
    var waiting = [root]
    while let value = waiting.popLast(), rest > 0 {
      rest -= 1
      if let dictionary = try value.dictionary() {
        if let digest = try digest(of: dictionary) {
          if let place = found.firstIndex(where: { $0.digest == digest }) {
            found[place].count += 1
          } else {
            found.append((digest, 1))
          }
          continue
        }
        var members = try dictionary.members()
        while let member = try members.next() { waiting.append(member.value) }
      } else if let array = try value.array() {
        for index in 0..<array.count { waiting.append(try array.value(at: index)) }
      }
    }
  }

  /// Returns the digest in a dictionary that describes a blob; nil for other dictionaries.
  private static func digest(of dictionary: FleeceDictionary) throws(FleeceError) -> BlobDigest? {
    guard try dictionary.value(for: "@type")?.string() == "blob",
      let text = try dictionary.value(for: "digest")?.string()
    else { return nil }
    return BlobDigest(text: text)
  }

  /// Returns whether the mark occurs anywhere in a body. Searches for its last byte, which is rarer
  /// in texts than the others.
  private static func mayHaveReference(_ body: [UInt8]) -> Bool {
    body.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return false }
      var end = mark.count - 1
      while end < bytes.count {
        end = start.firstOffset(of: UInt8(ascii: "-"), from: end, before: bytes.count)
        // SAFETY: the mark would end at `end`, which is at least its length less one.
        if end < bytes.count,
          UnsafeRawBufferPointer(start: start + (end - mark.count + 1), count: mark.count).elementsEqual(mark)
        {
          return true
        }
        end += 1
      }
      return false
    }
  }
}
