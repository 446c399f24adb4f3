import LatewoodDocuments
import LatewoodFleece

/// The records of a CSV text (RFC 4180) as JSON objects, one after the other.
///
/// The first record is the header, which names the members. An empty cell becomes no member. Lines
/// end with LF or CR LF; empty lines are skipped. One record is in memory at a time. Its length is
/// limited, because an unclosed quote would include the rest of the text.
struct CSVRecords {
  /// The end of a cell.
  private enum End { case separator, line, text }

  static let recordLimit = 64 << 20
  static let columnLimit = 10_000

  private let input: TextWindow
  private let format: CSVFormat
  private let recordLimit: Int
  /// The separator of cells; nil before the first one, if it is to be recognized.
  private(set) var separator: UInt8?
  /// The names of the members.
  private var names: [[UInt8]] = []
  /// The type of each column; nil if it is to be inferred.
  private var types: [CSVColumnType?] = []
  /// Explanations of the inferred types.
  private(set) var notes: [String] = []
  /// The number of records so far, without the header.
  private(set) var count = 0
  /// The line on which the last record began, counted from 1.
  private(set) var line = 1
  /// The position of the next byte, counted from 1; columns count Unicode scalars.
  private var place = (line: 1, column: 1)
  private var cellPlace = (line: 1, column: 1)
  private var recordLength = 0
  private var cell: [UInt8] = []
  private var isQuoted = false

  /// Reads the header of a text. If types are to be inferred, all of the text is read for that, and
  /// then opened again.
  ///
  /// - Parameter open: opens the text at its start; called once or twice.
  init(
    _ format: CSVFormat, recordLimit: Int = Self.recordLimit, opening open: () throws -> TextWindow
  ) throws {
    try self.init(try open(), format, recordLimit: recordLimit)
    guard types.contains(nil) else { return }
    let surveys = try surveyed()
    var again = try CSVRecords(try open(), format, recordLimit: recordLimit)
    guard again.names == names else {
      throw failure("the header has changed while the text was read", advice: "Run it again.")
    }
    again.types = zip(types, surveys).map { $0 ?? $1.type ?? .text }
    again.notes = zip(names, zip(types, surveys)).compactMap { name, column in
      column.0 == nil ? column.1.note(onColumn: name) : nil
    }
    self = again
  }

  /// Reads the header of a text from its start.
  private init(_ input: TextWindow, _ format: CSVFormat, recordLimit: Int) throws {
    self.input = input
    self.format = format
    self.recordLimit = recordLimit
    separator = format.separator
    try begin()
  }

  private mutating func begin() throws {
    try input.skipByteOrderMark()
    guard try skipEmptyLines() else {
      throw failure(
        "the header is missing",
        advice: "The first line must name the columns, with \(separatorName) between: title,year")
    }
    var known: [[UInt8]: Int] = [:]
    var end = End.separator
    while end == .separator {
      end = try readCell()
      try checkName(known)
      guard names.count < Self.columnLimit else {
        throw failure(
          "the header names more than \(Quantity.count(Self.columnLimit)) columns",
          advice: "Check that this is a CSV file.", at: cellPlace)
      }
      known[cell] = names.count
      names.append(cell)
    }
    if names.count == 1, !isQuoted, let other = cell.first(where: Self.usualSeparators.contains) {
      throw failure(
        "the header names one column, \(Arguments.quoted(cell))",
        advice: "Cells are separated by \(separatorName); choose \(Self.choice(of: other)), or put the "
          + "name in quotes if it is one.",
        at: cellPlace)
    }
    separator = separator ?? UInt8(ascii: ",")
    types = try typesOfColumns()
  }

  private static let usualSeparators = Array(",;\t|".utf8)

  /// Returns a separator with the option that chooses it, for messages.
  private static func choice(of separator: UInt8) -> String {
    "\(CSVFormat.shown(separator)) with --separator \(CSVFormat.argument(separator))"
  }

  /// The separator, for messages.
  private var separatorName: String { CSVFormat.shown(separator ?? UInt8(ascii: ",")) }

  /// Returns the declared types of the columns.
  private func typesOfColumns() throws -> [CSVColumnType?] {
    var types = [CSVColumnType?](repeating: format.types == .text ? .text : nil, count: names.count)
    for column in format.declared {
      guard let index = names.firstIndex(of: column.name) else {
        let known = names.prefix(8).map { Arguments.quoted($0) }.joined(separator: ", ")
        let more = names.count > 8 ? " and \(names.count - 8) more" : ""
        throw Failure.usage(
          "--columns has \(Arguments.quoted(column.name)), which the header does not name",
          advice: "The columns are \(known)\(more); cells are separated by \(separatorName).")
      }
      types[index] = column.type
    }
    return types
  }

  /// Reads all records, and returns a survey of each column.
  private mutating func surveyed() throws -> [CSVColumnSurvey] {
    var surveys = [CSVColumnSurvey](repeating: CSVColumnSurvey(), count: names.count)
    while try nextCells({ records, column in
      if records.types[column] == nil { surveys[column].add(records.cell, line: records.line) }
    }) {}
    return surveys
  }

  /// Replaces `element` by the next record as a compact JSON object; returns false at the end.
  mutating func next(into element: inout [UInt8]) throws -> Bool {
    element.removeAll(keepingCapacity: true)
    var output = JSONOutput()
    output.beginDictionary()
    guard try nextCells({ records, column in try records.append(to: &output, column) }) else { return false }
    output.endDictionary()
    element = output.take()
    count += 1
    return true
  }

  /// Reads the cells of the next record, each into `cell`; returns false at the end.
  private mutating func nextCells(_ body: (CSVRecords, _ column: Int) throws -> Void) throws -> Bool {
    guard try skipEmptyLines() else { return false }
    line = place.line
    recordLength = 0
    var index = 0
    var end = End.separator
    while end == .separator {
      end = try readCell()
      guard index < names.count else {
        throw failure(
          "this is cell \(index + 1), and the header names \(Quantity.count(names.count, "column", "columns"))",
          advice: "Put a text that has \(separatorName) in quotes, or name the column.", at: cellPlace)
      }
      try body(self, index)
      index += 1
    }
    guard index == names.count else {
      throw failure(
        "the record ends after \(Quantity.count(index, "cell", "cells")), and the header names "
          + Quantity.count(names.count, "column", "columns"),
        advice: "Add the missing cells, which may be empty, or close a quote.", at: cellPlace)
    }
    return true
  }

  private func checkName(_ known: [[UInt8]: Int]) throws {
    let number = names.count + 1
    guard !cell.isEmpty else {
      throw failure(
        "column \(number) has no name", advice: "The first line must name all columns.", at: cellPlace)
    }
    try checkText()
    if let other = known[cell] {
      throw failure(
        "column \(number) has the name of column \(other + 1): \(Arguments.quoted(cell))",
        advice: "Rename one of the columns.", at: cellPlace)
    }
    if NameRules.reservedMembers.contains(String(decoding: cell, as: UTF8.self)) {
      throw failure(
        "the name \(Arguments.quoted(cell)) is reserved",
        advice: "Give the column another name; --id chooses the column of the ids.", at: cellPlace)
    }
  }

  private func append(to output: inout JSONOutput, _ column: Int) throws {
    guard !cell.isEmpty else { return }
    try checkText()
    let type = types[column] ?? .text
    names[column].withUnsafeBytes { output.key($0) }
    switch type {
    case .text: cell.withUnsafeBytes { output.text($0) }
    case .number, .boolean:
      guard let value = type == .number ? CSVColumnType.number(cell) : CSVColumnType.boolean(cell) else {
        let name = Arguments.quoted(names[column])
        throw failure(
          "\(Arguments.quoted(cell)) is not a \(type.rawValue), and the column \(name) is of this type",
          advice: "Correct the cell, or declare the column as text with --columns.", at: cellPlace)
      }
      output.raw(value)
    }
  }

  private func checkText() throws {
    guard String(validating: cell, as: UTF8.self) == nil else { return }
    throw failure(
      "this cell is not UTF-8", advice: "Convert the file first: iconv -f LATIN1 -t UTF-8", at: cellPlace)
  }
}

/// Reading cells.
extension CSVRecords {
  /// Reads the next cell into `cell`.
  private mutating func readCell() throws -> End {
    cell.removeAll(keepingCapacity: true)
    cellPlace = place
    isQuoted = try input.peek() == UInt8(ascii: "\"")
    if isQuoted { try readQuoted() }
    while let byte = try input.peek() {
      if separator == nil, byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\t") { separator = byte }
      switch byte {
      case separator:
        try advance(over: byte)
        return .separator
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
        try skipLineEnd(byte)
        return .line
      case _ where isQuoted:
        // In the header, the wrong separator is more likely than a wrong quote.
        let isSeparator = types.isEmpty && Self.usualSeparators.contains(byte)
        throw failure(
          "\(JSON.shown(byte)) follows a cell in quotes",
          advice: "Cells are separated by \(separatorName); "
            + (isSeparator ? "choose \(Self.choice(of: byte))." : "inside quotes, double each quote."))
      case UInt8(ascii: "\""):
        throw failure(
          "a quote stands inside a cell that does not begin with one",
          advice: "Put the whole cell in quotes, and write each quote inside it twice.")
      default:
        cell.append(byte)
        try advance(over: byte)
      }
    }
    return .text
  }

  private mutating func readQuoted() throws {
    try advance(over: UInt8(ascii: "\""))
    while let byte = try input.peek() {
      try advance(over: byte)
      if byte == UInt8(ascii: "\"") {
        guard try input.peek() == byte else { return }
        try advance(over: byte)
      }
      cell.append(byte)
    }
    throw failure(
      "the quote that begins here is not closed", advice: "Close it, and write each quote inside it twice.",
      at: cellPlace)
  }

  /// Returns false at the end of the text.
  private mutating func skipEmptyLines() throws -> Bool {
    while let byte = try input.peek() {
      guard byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") else { return true }
      try skipLineEnd(byte)
      recordLength = 0
    }
    return false
  }

  private mutating func skipLineEnd(_ byte: UInt8) throws {
    try advance(over: byte)
    guard byte == UInt8(ascii: "\r"), let next = try input.peek() else { return }
    guard next == UInt8(ascii: "\n") else {
      throw failure(
        "a carriage return without a line feed",
        advice: "Lines end with LF or CR LF; put a text with a carriage return in quotes.")
    }
    try advance(over: next)
  }

  private mutating func advance(over byte: UInt8) throws {
    input.advance()
    recordLength += 1
    guard recordLength <= recordLimit else {
      throw failure(
        "the record is longer than \(Quantity.bytes(UInt64(recordLimit)))",
        advice: "A quote may not be closed: look at this cell.", at: cellPlace)
    }
    if byte == UInt8(ascii: "\n") {
      place = (place.line + 1, 1)
    } else if byte & 0xC0 != 0x80 {
      place.column += 1
    }
  }

  private func failure(
    _ reason: String, advice: String, at place: (line: Int, column: Int)? = nil
  ) -> Failure {
    var failure = Failure(.badInput, code: "invalidCSV", reason, advice: advice)
    failure.line = (place ?? self.place).line
    failure.column = (place ?? self.place).column
    return failure
  }
}
