import LatewoodFleece

/// Finds the blobs that a body refers to: dictionaries `{"@type":"blob","digest":"sha256-…"}` at
/// any depth.
package enum BlobReferences {
  private static let mark = Array("sha256-".utf8)

  /// The digests, each once, in the order in which they are found. Nothing is found in what is
  /// damaged. O(bytes).
  package static func find(in body: [UInt8]) -> [BlobDigest] { places(in: body).map(\.digest) }

  /// The same, and how often each is found.
  package static func places(in body: [UInt8]) -> [(digest: BlobDigest, count: Int)] {
    // Nearly all bodies have none, and a look at their bytes says so.
    guard contains(body, mark) else { return [] }
    var found: [(digest: BlobDigest, count: Int)] = []
    body.withUnsafeBytes { bytes in
      do throws(FleeceError) {
        try collect(
          try FleeceValue.root(of: bytes), limit: FleeceLimits.expansion(ofLength: body.count), &found)
      } catch {
        // Whoever reads the body will say so.
      }
    }
    return found
  }

  /// Without recursion, so that depth costs no stack.
  ///
  /// - Parameter limit: how many values are looked at: what is referred to from many places is gone
  ///   through as often.
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

  /// Of a dictionary that describes a blob.
  private static func digest(of dictionary: FleeceDictionary) throws(FleeceError) -> BlobDigest? {
    guard try dictionary.value(for: "@type")?.string() == "blob",
      let text = try dictionary.value(for: "digest")?.string(), text.utf8.starts(with: mark)
    else { return nil }
    return Base64.decode(text.utf8.dropFirst(mark.count)).flatMap { BlobDigest($0) }
  }

  private static func contains(_ bytes: [UInt8], _ pattern: [UInt8]) -> Bool {
    guard let first = pattern.first else { return false }
    var place = bytes.startIndex
    while let next = bytes[place...].firstIndex(of: first) {
      if bytes[next...].starts(with: pattern) { return true }
      place = next + 1
    }
    return false
  }
}
