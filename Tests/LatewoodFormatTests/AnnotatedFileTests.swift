import LatewoodSimulation
import Testing

/// Section 12 of FORMAT.md shows a complete file, which must be the golden file with that name.
@Suite struct AnnotatedFileTests {
  @Test func `the annotated example is the golden file, with zeros where nothing is shown`() throws {
    let document = try FormatDocument()
    #expect(Array(document.files.keys) == ["annotated"])
    let rows = try #require(document.files["annotated"])
    #expect(rows.count > 80)
    var shown: [UInt8] = []
    for row in rows {
      try #require(row.count == 3, "offset | bytes | meaning")
      let offset = try #require(Int(row[0]))
      let bytes = try row[1].split(separator: " ").map { try #require(UInt8($0, radix: 16)) }
      #expect(offset >= shown.count, "the rows ascend and do not overlap: \(row[0])")
      #expect(!row[2].isEmpty, "every byte that is shown is explained: \(row[0])")
      shown += [UInt8](repeating: 0, count: max(0, offset - shown.count)) + bytes
    }
    let golden = try Repository.read("Tests/golden/annotated.latewood")
    #expect(shown.count == golden.count, "the last row is the end of the file")
    let differences = zip(shown, golden).enumerated().filter { $1.0 != $1.1 }.map(\.offset)
    #expect(differences == [], "offsets that differ")
  }
}
