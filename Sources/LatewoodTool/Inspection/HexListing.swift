import LatewoodFleece
import LatewoodInspection

/// Bytes of a file in hexadecimal, with their meaning.
struct HexListing {
  private static let mostBytes: UInt64 = 1 << 20
  /// The maximum number of rows of a field.
  private static let mostRows = 8

  private let file: InspectedFile
  private let range: Range<UInt64>
  private let rows: [AnnotatedRow]
  private let bytes: [UInt8]

  init(_ file: InspectedFile, _ range: Range<UInt64>) throws {
    self.file = file
    self.range = range
    rows = try Annotator(file).rows(in: range)
    bytes = try file.reader.bytes(range)
  }

  /// Returns the value of `--length`; nil if it is not given.
  static func length(_ arguments: Arguments) throws -> UInt64? {
    guard let length = try arguments.number(of: .length) else { return nil }
    guard (1...mostBytes).contains(length) else {
      throw Failure.usage("--length is from 1 to \(Quantity.count(mostBytes)) bytes")
    }
    return length
  }

  static func check(_ offset: UInt64, in file: InspectedFile) throws {
    guard offset >= file.size else { return }
    throw Failure(
      .no, code: "beyondTheEnd", "the file has no byte at \(offset)",
      advice: "It has \(Quantity.count(file.size)) bytes.", path: file.path)
  }

  func show(on console: Console) throws {
    if console.printsJSON { return try console.json { write(to: &$0) } }
    let perRow = console.width >= 120 ? 16 : 8
    for row in rows {
      for line in lines(row, perRow, console) { try console.row(line) }
    }
  }

  private func bytes(of row: AnnotatedRow) -> ArraySlice<UInt8> {
    bytes[Int(row.range.lowerBound - range.lowerBound)..<Int(row.range.upperBound - range.lowerBound)]
  }

  private func lines(_ row: AnnotatedRow, _ perRow: Int, _ console: Console) -> [String] {
    let bytes = bytes(of: row)
    let column = 12 + perRow * 3 + 1
    var meaning = Self.wrapped(row.meaning, to: console.width - column)
    if row.isFault { meaning = meaning.map { console.errorStyle.isColoured ? console.style.bad($0) : $0 } }
    var hex: [String] = []
    let isLong =
      bytes.count > perRow * Self.mostRows || (bytes.count > perRow && bytes.allSatisfy { $0 == 0 })
    let shown = isLong ? bytes.prefix(perRow * (bytes.allSatisfy { $0 == 0 } ? 1 : Self.mostRows - 2)) : bytes
    for start in stride(from: shown.startIndex, to: shown.endIndex, by: perRow) {
      let part = shown[start..<min(start + perRow, shown.endIndex)]
      hex.append(part.map { Hex.encode([$0]) }.joined(separator: " "))
    }
    if isLong { hex.append("… \(Quantity.count(bytes.count - shown.count, "byte", "bytes")) more") }
    return (0..<max(hex.count, meaning.count)).map { index in
      let offset = index * perRow < shown.count ? "\(row.range.lowerBound + UInt64(index * perRow))" : ""
      let left = DisplayWidth.padded(offset, to: 10, right: true) + "  "
      let middle = DisplayWidth.padded(index < hex.count ? hex[index] : "", to: perRow * 3 + 1)
      let line = console.style.dim(left) + middle + (index < meaning.count ? meaning[index] : "")
      return line.hasSuffix(" ") ? String(line.reversed().drop { $0 == " " }.reversed()) : line
    }
  }

  /// Breaks text at spaces, or anywhere if there are none.
  private static func wrapped(_ text: String, to width: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for var word in text.split(separator: " ").map(String.init) {
      if !line.isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = ""
      }
      while word.count > width {
        lines.append(String(word.prefix(width)))
        word = String(word.dropFirst(width))
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    return lines + [line]
  }

  private func write(to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.member("offset", range.lowerBound)
    writer.member("length", range.upperBound - range.lowerBound)
    writer.list("fields", rows) { writer, row in
      writer.member("offset", row.range.lowerBound)
      writer.member("length", row.range.upperBound - row.range.lowerBound)
      writer.member("hex", Hex.encode(bytes(of: row)))
      writer.member("meaning", row.meaning)
      writer.member("fault", row.isFault)
    }
    writer.endDictionary()
  }
}
