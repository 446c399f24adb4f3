import LatewoodSimulation
import Testing

@testable import LatewoodFleece

/// Members looked up by a prepared name, compared with those looked up by its bytes.
@Suite struct NameTests {
  /// Names that begin alike, around the eight bytes that are compared in one step.
  private static func name(_ random: inout SeededRandom) -> String {
    let length = random.oneIn(2) ? random.below(4) : 6 + random.below(12)
    let start = String(repeating: "a", count: max(0, length - 2))
    return start + (0..<min(2, length)).map { _ in random.pick(["\0", "a", "b", "\u{7F}"]) }.joined()
  }

  private static func dictionary(_ names: [String]) throws -> [UInt8] {
    var writer = FleeceWriter()
    try writer.beginDictionary()
    for (number, name) in Set(names).enumerated() {
      try writer.key(name)
      try writer.integer(Int64(number))
    }
    try writer.endDictionary()
    return try writer.finish()
  }

  /// The position of the value that a lookup finds, or the error that it throws.
  private func place(_ find: () throws(FleeceError) -> FleeceValue?) -> String {
    do throws(FleeceError) { return "\(try find().map { $0.offset }, default: "none")" } catch {
      return "damaged"
    }
  }

  @Test func `a prepared name finds what its bytes find, even in damaged data`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    var found = 0
    for round in 0..<Effort.count(4000, low: 400) {
      let names = (0..<random.below(12)).map { _ in Self.name(&random) }
      var bytes = try Self.dictionary(names)
      if round % 2 == 1 { bytes[random.below(bytes.count)] ^= UInt8(1 << random.below(8)) }
      for name in names + (0..<6).map({ _ in Self.name(&random) }) {
        bytes.withUnsafeBytes { bytes in
          let plain = place { () throws(FleeceError) in
            try FleeceValue.root(of: bytes).dictionary()?.value(for: name)
          }
          let prepared = place { () throws(FleeceError) in
            try FleeceValue.root(of: bytes).dictionary()?.value(for: FleeceName(name))
          }
          #expect(plain == prepared, "\(name) in \(names)")
          if plain != "none", plain != "damaged" { found += 1 }
        }
      }
    }
    #expect(found > 500)
  }

  @Test func `names are compared by their bytes`() {
    let names = ["", "a", "a\0", "aaaaaaaa", "aaaaaaaa\0", "aaaaaaaab", "aaaaaaaac", "é", "e\u{301}"]
    for left in names {
      for right in names {
        #expect((FleeceName(left) == FleeceName(right)) == left.utf8.elementsEqual(right.utf8))
      }
    }
    #expect(Set(names.map { FleeceName($0) }).count == names.count)
  }
}
