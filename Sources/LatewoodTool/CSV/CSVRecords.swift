import LatewoodDocuments
import LatewoodFleece

/// The records of a CSV text (RFC 4180) as JSON objects, one after the other.
///
/// The first record is the header, which names the members. Lines end with LF or CR LF; empty lines
/// are skipped. One record is in memory at a time. Its length is limited, because an unclosed quote
/// would include the rest of the text.
struct CSVRecords {
  /// The conversion of cells into values. An empty cell becomes no member.
  enum Types: String, CaseIterable {
    /// Numbers, true and false are recognized as in JSON; everything else is text. Integers that do
    /// not fit into 64 bits are text, which keeps their digits.
    case infer
    case text
  }

  /// The end of a cell.
  private enum End { case comma, line, text }

  static let recordLimit = 64 << 20
  static let columnLimit = 10_000

  private let input: TextWindow
  private let types: Types
  private let recordLimit: Int
  /// The names of the members.
  private var names: [[UInt8]] = []
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

  init(_ input: TextWindow, _ types: Types, recordLimit: Int = Self.recordLimit) {
    self.input = input
    self.types = types
    self.recordLimit = recordLimit
  }

  /// Reads the header. Must be called once, before `next`.
  mutating func begin() throws {
    try input.skipByteOrderMark()
    guard try skipEmptyLines() else {
      throw failure(
        "the header is missing",
        advice: "The first line must name the columns, with commas between: title,year")
    }
    var known: [[UInt8]: Int] = [:]
    var end = End.comma
    while end == .comma {
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
    if names.count == 1, !isQuoted, cell.contains(UInt8(ascii: ";")) || cell.contains(UInt8(ascii: "\t")) {
      throw failure(
        "the header names one column, \(Arguments.quoted(cell))",
        advice: "Columns are separated by commas; put the name in quotes if it is one.", at: cellPlace)
    }
  }

  /// Replaces `element` by the next record as a compact JSON object; returns false at the end.
  mutating func next(into element: inout [UInt8]) throws -> Bool {
    element.removeAll(keepingCapacity: true)
    guard try skipEmptyLines() else { return false }
    line = place.line
    recordLength = 0
    var output = JSONOutput()
    output.beginDictionary()
    var index = 0
    var end = End.comma
    while end == .comma {
      end = try readCell()
      guard index < names.count else {
        throw failure(
          "this is cell \(index + 1), and the header names \(Quantity.count(names.count, "column", "columns"))",
          advice: "Put a text that has commas in quotes, or name the column.", at: cellPlace)
      }
      try append(to: &output, name: names[index])
      index += 1
    }
    guard index == names.count else {
      throw failure(
        "the record ends after \(Quantity.count(index, "cell", "cells")), and the header names "
          + Quantity.count(names.count, "column", "columns"),
        advice: "Add the missing cells, which may be empty, or close a quote.", at: cellPlace)
    }
    output.endDictionary()
    element = output.take()
    count += 1
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

  private func append(to output: inout JSONOutput, name: [UInt8]) throws {
    guard !cell.isEmpty else { return }
    try checkText()
    name.withUnsafeBytes { output.key($0) }
    if types == .infer, Self.isValue(cell) {
      output.raw(cell)
    } else {
      cell.withUnsafeBytes { output.text($0) }
    }
  }

  private func checkText() throws {
    guard String(validating: cell, as: UTF8.self) == nil else { return }
    throw failure(
      "this cell is not UTF-8", advice: "Convert the file first: iconv -f LATIN1 -t UTF-8", at: cellPlace)
  }

  /// Returns whether a cell is true, false, or a number in the notation of JSON that fits into a
  /// document.
  static func isValue(_ cell: [UInt8]) -> Bool {
    if cell.elementsEqual("true".utf8) || cell.elementsEqual("false".utf8) { return true }
    var rest = cell[...]
    func digits() -> Int {
      let count = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
      rest = rest.dropFirst(count)
      return count
    }
    if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
    let startsWithZero = rest.first == UInt8(ascii: "0")
    let whole = digits()
    guard whole > 0, whole == 1 || !startsWithZero else { return false }
    let text = String(decoding: cell, as: UTF8.self)
    if rest.isEmpty { return Int64(text) != nil || UInt64(text) != nil }
    if rest.first == UInt8(ascii: ".") {
      rest = rest.dropFirst()
      guard digits() > 0 else { return false }
    }
    if let sign = rest.first, sign == UInt8(ascii: "e") || sign == UInt8(ascii: "E") {
      rest = rest.dropFirst()
      if let sign = rest.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
        rest = rest.dropFirst()
      }
      guard digits() > 0 else { return false }
    }
    return rest.isEmpty && Double(text)?.isFinite == true
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
      switch byte {
      case UInt8(ascii: ","):
        try advance(over: byte)
        return .comma
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
        try skipLineEnd(byte)
        return .line
      case _ where isQuoted:
        throw failure(
          "\(JSON.shown(byte)) follows a cell in quotes",
          advice: "A comma must follow; inside quotes, double each quote.")
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
