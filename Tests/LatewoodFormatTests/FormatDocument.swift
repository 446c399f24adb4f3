import LatewoodDevice
import LatewoodSimulation

/// FORMAT.md as the tests see it: the rows of its marked tables.
///
/// A table follows a line `<!-- table: NAME -->`, the annotated file of section 12 a line `<!--
/// file: NAME -->`; such a line may also stand before a further table of the same name.
struct FormatDocument {
  /// Rows by the name of their table, without the two of its head; each cell with its words one
  /// space apart.
  let tables: [String: [[String]]]
  /// The same of annotated files.
  let files: [String: [[String]]]

  init() throws {
    let text = String(decoding: try Repository.read("FORMAT.md"), as: UTF8.self)
    tables = FormatDocument.rows(after: "table:", in: text)
    files = FormatDocument.rows(after: "file:", in: text)
  }

  private static func rows(after mark: Substring, in text: String) -> [String: [[String]]] {
    var found: [String: [[String]]] = [:]
    var name: String?
    var headLines = 0
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let words = line.split(separator: " ")
      if words.starts(with: ["<!--", mark]), words.count > 2 {
        name = String(words[2])
        headLines = 2
      } else if let table = name, line.hasPrefix("|") {
        if headLines > 0 {
          headLines -= 1
          continue
        }
        found[table, default: []].append(cells(of: line))
      } else {
        name = nil
      }
    }
    return found
  }

  /// Empty cells count, so that a column keeps its place.
  private static func cells(of line: Substring) -> [String] {
    line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false).map { cell in
      cell.split(separator: " ").joined(separator: " ")
    }
  }
}
