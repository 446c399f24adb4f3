import LatewoodDevice
import LatewoodSimulation

/// The rows of the marked tables in FORMAT.md.
///
/// A table follows a line `<!-- table: NAME -->`, and the annotated file of section 12 a line `<!--
/// file: NAME -->`. Several tables may have the same name.
struct FormatDocument {
  /// The rows of each table without the two header rows. In each cell, words are one space apart.
  let tables: [String: [[String]]]
  /// The rows of annotated files in the same form.
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

  /// The cells of a row, including empty ones, so that columns keep their positions.
  private static func cells(of line: Substring) -> [String] {
    line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false).map { cell in
      cell.split(separator: " ").joined(separator: " ")
    }
  }
}
