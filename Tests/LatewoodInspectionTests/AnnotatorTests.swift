import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodInspection

@Suite struct AnnotatorTests {
  static func check(_ rows: [AnnotatedRow], cover range: Range<UInt64>, _ message: String) {
    var at = range.lowerBound
    for row in rows {
      #expect(row.range.lowerBound == at && !row.range.isEmpty && !row.meaning.isEmpty, "\(message), \(at)")
      at = row.range.upperBound
    }
    #expect(at == range.upperBound, "\(message)")
  }

  /// Returns the rows of the table in section 12 of FORMAT.md.
  private func documented() throws -> [(offset: UInt64, bytes: [UInt8], meaning: String)] {
    let path = GoldenFiles.root + "/../../FORMAT.md"
    let text = String(decoding: try GoldenFiles.bytes(at: path, on: FileVolume()), as: UTF8.self)
    let lines = text.split(separator: "\n")
    let start = try #require(lines.firstIndex(of: "<!-- file: annotated -->"))
    let end = try #require(lines.firstIndex(of: "<!-- end of file -->"))
    return try lines[(start + 3)..<(end - 1)].map { line in
      let cells = line.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
      let bytes = try cells[1].split(separator: " ").map { try #require(UInt8($0, radix: 16)) }
      return (try #require(UInt64(cells[0])), bytes, cells[2])
    }
  }

  @Test func `explains the file of section 12 in the words of FORMAT.md`() throws {
    let file = try InspectedFile(path: GoldenFiles.path("annotated"))
    let rows = try Annotator(file).rows(in: 0..<file.size)
    Self.check(rows, cover: 0..<file.size, "annotated")
    #expect(rows.allSatisfy { !$0.isFault && $0.meaning != "no meaning" })
    let byStart = Dictionary(uniqueKeysWithValues: rows.map { ($0.range.lowerBound, $0) })
    for row in try documented() {
      let own = try #require(byStart[row.offset], "offset \(row.offset): \(row.meaning)")
      #expect(own.range.count == row.bytes.count, "offset \(row.offset)")
      // For one checksum, the table also names the covered bytes.
      #expect(own.meaning == row.meaning || row.meaning == own.meaning + ": of the nodes frame")
    }
    // Everything that the table leaves out is zero there.
    let shown = Set(try documented().map(\.offset))
    for row in rows where !shown.contains(row.range.lowerBound) {
      #expect(try file.reader.isZero(row.range), "\(row)")
    }
  }

  @Test(arguments: GoldenFiles.names) func `explains every byte of every golden file`(name: String) throws {
    let file: InspectedFile
    do { file = try InspectedFile(path: GoldenFiles.path(name)) } catch { return }
    let annotator = Annotator(file)
    let rows = try annotator.rows(in: 0..<file.size)
    Self.check(rows, cover: 0..<file.size, name)
    if !name.hasPrefix("damaged"), name != "cut-short" {
      let faults = rows.filter { $0.isFault && $0.range.lowerBound >= 16384 }
      #expect(faults.isEmpty || ["malformed-operation", "holes"].contains(name), "\(name): \(faults)")
    }
    // Every piece of the file has the same explanation.
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<40 {
      let start = UInt64(random.below(Int(file.size)))
      let range = start..<min(file.size, start + UInt64(random.below(600)))
      let some = try annotator.rows(in: range)
      Self.check(some, cover: range, "\(name) \(random.replay)")
      for row in some {
        let whole = try #require(rows.first { $0.range.contains(row.range.lowerBound) })
        // A range without meaning is described by its content.
        #expect(
          whole.meaning == row.meaning || row.meaning.contains("meaning") || row.meaning.contains("zero"),
          "\(name) \(random.replay) \(row.range)")
      }
    }
  }

  @Test func `never traps on changed bytes`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for name in GoldenFiles.names {
      for _ in 0..<6 {
        var bytes = try GoldenFiles.bytes(name)
        for _ in 0..<3 {
          bytes[
            random.oneIn(2) ? random.below(bytes.count) : min(bytes.count - 1, 16384 + random.below(600))] ^=
            1 << UInt8(random.below(8))
        }
        if random.oneIn(3) { bytes.removeLast(random.below(bytes.count)) }
        do {
          let file = try InspectedFile(path: "file", on: GoldenFiles.volume(bytes))
          let rows = try Annotator(file).rows(in: 0..<file.size)
          Self.check(rows, cover: 0..<file.size, "\(name) \(random.replay)")
        } catch let fault as StorageError {
          #expect([.notADatabase, .tooNew].contains(fault.kind), "\(name) \(random.replay)")
        }
      }
    }
  }
}
