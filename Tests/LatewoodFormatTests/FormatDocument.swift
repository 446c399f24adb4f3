import LatewoodDevice

/// FORMAT.md as the tests see it: the rows of its marked tables.
///
/// A table follows a line `<!-- table: NAME -->`, the annotated file of section 12 a line `<!-- file: NAME -->`; such a line may also
/// stand before a further table of the same name.
struct FormatDocument {
  /// Rows by the name of their table, without the two of its head; each cell with its words one space apart.
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

/// The files of the repository that this test was compiled from.
enum Repository {
  static let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(
    separator: "/")

  static func path(_ name: String) -> String { "\(root)/\(name)" }

  static func read(_ name: String) throws -> [UInt8] { try read(FileVolume(), path(name)) }

  static func read(_ volume: any Volume, _ path: String) throws -> [UInt8] {
    let device = try volume.open(path, .readOnly)
    defer { device.close() }
    var bytes = [UInt8](repeating: 0, count: Int(try device.size()))
    let count = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
    return Array(bytes[..<count])
  }

  /// Replaces the file, if there is one.
  static func write(_ bytes: [UInt8], to path: String, on volume: any Volume = FileVolume()) throws {
    if try volume.exists(path) { try volume.remove(path) }
    let device = try volume.open(path, .createExclusive(permissions: 0o644))
    defer { device.close() }
    try bytes.withUnsafeBytes { try device.write($0, at: 0) }
  }
}
