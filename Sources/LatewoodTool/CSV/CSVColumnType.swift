import LatewoodFleece

/// The type of the values that the cells of a column become.
enum CSVColumnType: String, CaseIterable {
  case text, number, boolean

  /// Returns the JSON text of a cell that is a number: as JSON writes numbers, or with a plus sign,
  /// leading zeros, or a bare decimal point. Returns nil for other cells and for numbers that are
  /// too large.
  static func number(_ cell: [UInt8]) -> [UInt8]? {
    if isNumberOfJSON(cell) { return cell }
    var rest = cell[...]
    let isNegative = rest.first == UInt8(ascii: "-")
    if isNegative || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
    while rest.count > 1, rest.first == UInt8(ascii: "0"), isDigit(rest[rest.startIndex + 1]) {
      rest = rest.dropFirst()
    }
    let beginsWithPoint = rest.first == UInt8(ascii: ".")
    // A digit must follow: neither a second sign nor a point alone is a number.
    guard let digit = rest.dropFirst(beginsWithPoint ? 1 : 0).first, isDigit(digit) else { return nil }
    if !beginsWithPoint, rest.last == UInt8(ascii: "."), rest.dropLast().allSatisfy(isDigit) {
      rest = rest.dropLast()
    }
    let text = (isNegative ? [UInt8(ascii: "-")] : []) + (beginsWithPoint ? [UInt8(ascii: "0")] : []) + rest
    return isNumberOfJSON(text) ? text : nil
  }

  /// Returns the JSON text of a cell that is true or false, in any case of letters.
  static func boolean(_ cell: [UInt8]) -> [UInt8]? {
    let letters = cell.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    return letters.elementsEqual("true".utf8) || letters.elementsEqual("false".utf8) ? letters : nil
  }

  /// Returns whether a cell is a number that is printed with the same text after it was stored. A
  /// number such as 1.50, 1E7 or 9007199254740993.0 is not.
  static func keepsText(_ cell: [UInt8]) -> Bool {
    guard isNumberOfJSON(cell) else { return false }
    let text = String(decoding: cell, as: UTF8.self)
    if let integer = Int64(text) { return String(integer) == text }
    if let integer = UInt64(text) { return String(integer) == text }
    guard let double = Double(text) else { return false }
    var output = JSONOutput()
    do throws(FleeceError) { try output.double(double) } catch { return false }
    return output.take() == cell
  }

  private static func isNumberOfJSON(_ cell: [UInt8]) -> Bool {
    var rest = cell[...]
    func digits() -> Int {
      let count = rest.prefix(while: isDigit).count
      rest = rest.dropFirst(count)
      return count
    }
    if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
    let startsWithZero = rest.first == UInt8(ascii: "0")
    let whole = digits()
    guard whole > 0, whole == 1 || !startsWithZero else { return false }
    if rest.first == UInt8(ascii: ".") {
      rest = rest.dropFirst()
      guard digits() > 0 else { return false }
    }
    if let letter = rest.first, letter == UInt8(ascii: "e") || letter == UInt8(ascii: "E") {
      rest = rest.dropFirst()
      if let sign = rest.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
        rest = rest.dropFirst()
      }
      guard digits() > 0 else { return false }
    }
    return rest.isEmpty && Double(String(decoding: cell, as: UTF8.self))?.isFinite == true
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}

/// The common properties of the cells of one column, from which its type is inferred: a column is a
/// number if each cell is a number that gives its text back, and boolean if each cell is `true` or
/// `false`. Empty cells fit every type.
struct CSVColumnSurvey {
  private(set) var type: CSVColumnType?
  /// Whether all cells so far are numbers, perhaps in a form that is not kept.
  private var looksNumeric = true
  /// The first cell that is not a number that gives its text back, with its line.
  private var exception: (cell: [UInt8], line: Int)?

  mutating func add(_ cell: [UInt8], line: Int) {
    guard !cell.isEmpty, type != .text || looksNumeric else { return }
    guard !CSVColumnType.keepsText(cell) else {
      type = type == nil || type == .number ? .number : .text
      return
    }
    if exception == nil { exception = (cell, line) }
    looksNumeric = looksNumeric && CSVColumnType.number(cell) != nil
    let isBoolean = cell.elementsEqual("true".utf8) || cell.elementsEqual("false".utf8)
    type = isBoolean && (type == nil || type == .boolean) ? .boolean : .text
  }

  /// Explains why a column whose cells look like numbers is text; nil for other columns.
  func note(onColumn name: [UInt8]) -> String? {
    guard type == .text, looksNumeric, let exception else { return nil }
    let shown = Arguments.quoted(name)
    return "The column \(shown) is text: as a number, \(Arguments.quoted(exception.cell)) in line "
      + "\(exception.line) would not keep its text. --columns NAME:number imports numbers."
  }
}
