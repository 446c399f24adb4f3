import Foundation
import Testing

@testable import LatewoodTree

@Suite struct BaseLayoutTests {
  /// The rows of the table of FORMAT.md that follows the marker.
  private func table(_ name: String) throws -> [(offset: Int, length: Int?, field: String)] {
    let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
    let path = root.joined(separator: "/") + "/FORMAT.md"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let start = try #require(lines.firstIndex(of: "<!-- table: \(name) -->"))
    return lines[(start + 3)...].prefix { $0.hasPrefix("|") }.compactMap { line in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count >= 3, let offset = Int(cells[0]) else { return nil }
      return (offset, Int(cells[1]), cells[2])
    }
  }

  @Test func `The layout of nodes is that of FORMAT.md`() throws {
    let rows = try table("node")
    let expected: [(Int, Int?, String)] = [
      (NodeLayout.checksum, 8, "checksum"), (NodeLayout.kind, 1, "kind"), (NodeLayout.level, 1, "level"),
      (NodeLayout.count, 2, "count"), (NodeLayout.length, 4, "length"),
      (NodeLayout.ownOffset, 8, "own offset"), (NodeLayout.transaction, 8, "transaction"),
      (NodeLayout.prefixLength, 2, "prefix length"), (NodeLayout.reserved, 6, "reserved"),
      (NodeLayout.arrays, nil, "arrays"),
    ]
    #expect(rows.map(\.field) == expected.map(\.2))
    #expect(rows.map(\.offset) == expected.map(\.0))
    #expect(rows.map(\.length) == expected.map(\.1))
  }

  @Test func `The layout of children is that of FORMAT.md`() throws {
    let rows = try table("child")
    let expected: [(Int, Int, String)] = [
      (NodeLayout.childOffset, 8, "offset"), (NodeLayout.childReferenceLength, 4, "length"),
      (NodeLayout.childChecksum, 4, "checksum"), (NodeLayout.childEntries, 8, "entries"),
      (NodeLayout.childLiveBytes, 8, "live bytes"),
    ]
    #expect(rows.map(\.field) == expected.map(\.2))
    #expect(rows.map(\.offset) == expected.map(\.0))
    #expect(rows.map(\.length) == expected.map(\.1))
    #expect(rows.last.map { $0.offset + ($0.length ?? 0) } == NodeLayout.childLength)
  }
}
