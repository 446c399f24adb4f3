import LatewoodFleece

/// Arbitrary bytes as Fleece: walked, read in place by every accessor, written as JSON, copied.
final class FleeceTarget: FuzzTarget {
  private var writer = FleeceWriter()

  func run(_ input: UnsafeRawBufferPointer) {
    let bytes = [UInt8](input)
    let body = FleeceBody(bytes)
    var isValid = false
    do throws(FleeceError) {
      try body.withRoot { value throws(FleeceError) in try value.validate() }
      isValid = true
    } catch {
      if error.offset == nil, error.kind == .damaged { find("damage without a place: \(error)") }
    }
    do throws(FleeceError) {
      let text = try JSON.text(of: bytes)
      if !isValid { find("what is damaged was written") }
      agree(text, bytes)
    } catch {
      if isValid, error.kind != .notFinite { find("what is sound was refused: \(error)") }
    }
    let digest = digest(of: body) { value, hash throws(FleeceError) in try value.digest(into: &hash) }
    let byWalk = self.digest(of: body) { value, hash throws(FleeceError) in
      try value.digestByWalk(into: &hash)
    }
    if digest != byWalk || (digest != nil) != isValid { find("two digests differ") }
    writer.removeAll()
    if isValid {
      do throws(FleeceError) {
        let copy = try body.withRoot { value throws(FleeceError) in
          try writer.value(value)
          return try writer.finish()
        }
        try FleeceBody(copy).withRoot { value throws(FleeceError) in try value.validate() }
      } catch {
        if error.kind != .tooLarge, error.kind != .notFinite {
          find("a sound value cannot be copied: \(error)")
        }
      }
    }
    var budget = 400
    tolerate { visit(try body.root, depth: 0, &budget) }
  }

  /// Returns the digest of the value; nil if it is refused.
  private func digest(
    of body: FleeceBody, _ add: (FleeceValue, inout ValueHash) throws(FleeceError) -> Void
  ) -> [UInt64]? {
    do throws(FleeceError) {
      var hash = ValueHash()
      try body.withRoot { value throws(FleeceError) in try add(value, &hash) }
      let (first, second) = hash.finish()
      return [first, second]
    } catch { return nil }
  }

  /// Checks that the text can be read and means the same.
  private func agree(_ text: [UInt8], _ bytes: [UInt8]) {
    // Data became text, and members with undefined values are lost, so only a second round trip
    // from the text must agree.
    do throws(FleeceError) {
      let again = try JSON.fleece(from: text)
      if try JSON.text(of: again) != text { find("a text is another one after reading it") }
    } catch {
      find("a text that was written cannot be read: \(error)")
    }
  }

  private func visit(_ element: FleeceElement, depth: Int, _ budget: inout Int) {
    budget -= 1
    tolerate { _ = try element.number() }
    tolerate { _ = try element.string() }
    tolerate { _ = try element.data() }
    tolerate { _ = try element.boolean() }
    for key in ["a", "", "name"] { tolerate { _ = try element.element(for: key) } }
    guard depth < 6, budget > 0 else { return }
    var count = 0
    tolerate { count = try element.count() ?? 0 }
    for index in 0..<min(count, 8) where budget > 0 {
      tolerate { if let inner = try element.element(at: index) { visit(inner, depth: depth + 1, &budget) } }
    }
    tolerate {
      for member in (try element.members() ?? []).prefix(8) where budget > 0 {
        visit(member.value, depth: depth + 1, &budget)
      }
    }
    tolerate { _ = try FleeceDecoder().decode(Loose.self, from: element) }
  }

  /// Decodes any value.
  private struct Loose: Decodable {
    init(from decoder: any Decoder) throws {
      guard decoder.codingPath.count < 6 else { return }
      if let members = try? decoder.container(keyedBy: Key.self) {
        for key in members.allKeys.prefix(4) { tolerate { _ = try members.decode(Loose.self, forKey: key) } }
      } else if var elements = try? decoder.unkeyedContainer() {
        for _ in 0..<min(elements.count ?? 0, 4) { tolerate { _ = try elements.decode(Loose.self) } }
      } else {
        let single = try decoder.singleValueContainer()
        tolerate { _ = try single.decode(Int8.self) }
        tolerate { _ = try single.decode(Double.self) }
        tolerate { _ = try single.decode(String.self) }
      }
    }

    struct Key: CodingKey {
      var stringValue: String
      var intValue: Int? { nil }
      init?(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { return nil }
    }
  }
}
