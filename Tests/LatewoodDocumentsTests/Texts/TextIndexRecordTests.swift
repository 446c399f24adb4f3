import LatewoodQuery
import LatewoodSimulation
import LatewoodText
import Testing

@testable import LatewoodDocuments

/// The stored records of full-text indexes, and bytes that no writer produces.
@Suite struct TextIndexRecordTests {
  private func records() throws -> [TextIndexRecord] {
    let options = TextOptions(language: .english, folding: .letterCase, stopWords: ["the", "of", ""])
    return [
      TextIndexRecord(try TextDefinition("title"), number: 1, .complete),
      TextIndexRecord(
        try TextDefinition("title^2.5", #"a\.b[].c[]"#, options: options), number: 300, .through("doc 7")),
      TextIndexRecord(
        try TextDefinition("t"), TextIndexRecord.Rules(unicode: "16.0.0", stemmers: 7), number: 5,
        .through("")),
      TextIndexRecord(try TextDefinition("t"), number: 2, .merging),
    ]
  }

  private func decoded(_ bytes: [UInt8]) throws -> TextIndexRecord {
    try bytes.withUnsafeBytes { try TextIndexRecord($0) }
  }

  @Test func `a record is read back equal`() throws {
    for record in try records() {
      #expect(try decoded(record.encoded()) == record)
    }
  }

  @Test func `damaged records are refused or mean something else, but never trap`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for record in try records() {
      let bytes = record.encoded()
      for length in 0..<bytes.count { do { _ = try decoded(Array(bytes.prefix(length))) } catch {} }
      for _ in 0..<2000 {
        var changed = bytes
        changed[random.below(bytes.count)] = UInt8(random.below(256))
        do { _ = try decoded(changed) } catch let error as DatabaseError {
          #expect([.corruptData, .tooNew].contains(error.code))
        }
      }
    }
    var newer = try records()[0].encoded()
    newer[0] = 2
    refusal(.tooNew) { _ = try decoded(newer) }
    refusal(.corruptData) { _ = try decoded([]) }
    refusal(.corruptData) { _ = try decoded(try records()[0].encoded() + [0]) }
  }

  @Test func `a collection counts its full-text indexes in a separate form`() throws {
    func state(_ bytes: [UInt8]) throws -> CollectionState {
      try bytes.withUnsafeBytes { try CollectionState($0) }
    }
    var known = CollectionState(CollectionIdentity(random: { 5 }))
    for (views, texts, format) in [(0, 0, 1), (2, 0, 2), (0, 3, 3), (2, 3, 3)] as [(UInt64, UInt64, UInt8)] {
      (known.views, known.texts) = (views, texts)
      let bytes = known.encoded()
      #expect(bytes[0] == format)
      #expect(try state(bytes) == known)
      refusal(.corruptData) { _ = try state(bytes + [0]) }
      refusal(.corruptData) { _ = try state(bytes.dropLast()) }
    }
    refusal(.corruptData) { _ = try state(known.encoded().dropLast() + [0]) }
    refusal(.tooNew) { _ = try state([4] + known.encoded().dropFirst()) }
  }

  @Test func `paths of texts are read and written`() throws {
    for text in ["a", "a.b", "a[]", "a[].b", "a[][]", "a[].b[].c", #"a\.b[]"#, #"a\[]"#, "_id", "a.0"] {
      let path = try TextPath(parsing: text)
      #expect(try TextPath(parsing: path.text) == path)
    }
    #expect(try TextPath(parsing: "a[].b[]").text == "a[].b[]")
    for text in ["", "[]", "a[]b", "a[].", ".a", "a[", "a[][0]"] {
      #expect(throws: QueryError.self, "\(text)") { _ = try TextPath(parsing: text) }
    }
  }

  @Test func `definitions that cannot be kept are refused`() throws {
    let field = try TextDefinition.Field(parsing: "a")
    #expect(throws: QueryError.self) { _ = try TextDefinition([]) }
    #expect(throws: QueryError.self) { _ = try TextDefinition([field, field]) }
    for weight in [-1, .nan, .infinity, 2e6] {
      #expect(throws: QueryError.self) {
        _ = try TextDefinition([TextDefinition.Field(field.path, weight: weight)])
      }
    }
    let many = try (0...TextDefinition.fieldLimit).map { try TextDefinition.Field(parsing: "f\($0)") }
    #expect(throws: QueryError.self) { _ = try TextDefinition(many) }
    _ = try TextDefinition(Array(many.dropLast()))
    let long = TextOptions(stopWords: [String(repeating: "x", count: 1 << 17)])
    #expect(throws: QueryError.self) { _ = try TextDefinition([field], long) }
  }
}
