import LatewoodFleece

/// A regular expression that may match anywhere in a string.
///
/// It is matched by Unicode scalars. The time is always proportional to the length of the
/// expression times the length of the string, because an automaton follows all alternatives at the
/// same time instead of trying one after another. Syntax that cannot be matched in that way is
/// refused: back references, lookaround, atomic groups, possessive quantifiers. `PatternParser`
/// lists the syntax.
package final class Pattern: Sendable {
  package let text: String
  /// Whether the regular expressions of release 0.2.0 and earlier, those of Swift, understood the
  /// text in another way.
  private let isReinterpreted: Bool
  private let program: PatternProgram
  private let table: PatternTable

  /// A comment in stored expressions: their meaning is that of this type.
  private static let mark = "(?#2)"

  /// Throws `invalidSelector` if the text is not a regular expression, and `unsupported` if it uses
  /// something that takes more than linear time, or is not supported.
  package init(_ text: String) throws(QueryError) {
    self.text = text
    var parser = PatternParser(text)
    program = try parser.program()
    isReinterpreted = parser.isReinterpreted
    table = PatternTable(program)
  }

  /// The text in stored conditions. An expression that earlier releases understood in another way
  /// is marked, so that an index of those releases is not taken for one of this expression.
  package var storedText: String {
    isReinterpreted && !text.hasPrefix(Pattern.mark) ? Pattern.mark + text : text
  }

  /// Creates the expression of a stored condition.
  ///
  /// Also throws `unsupported` for an expression that an earlier release stored, and understood in
  /// another way.
  package init(stored text: String) throws(QueryError) {
    self.text = text
    var parser = PatternParser(text)
    program = try parser.program()
    isReinterpreted = parser.isReinterpreted
    table = PatternTable(program)
    if isReinterpreted, !text.hasPrefix(Pattern.mark) {
      throw QueryError(
        .unsupported,
        "the regular expression \"\(text)\" was stored by a release that understood it differently")
    }
  }

  // MARK: Matching

  /// Returns whether the expression matches anywhere in a string.
  func matches(_ string: String) throws(FleeceError) -> Bool {
    let text = Array(string.utf8)
    return try text.span.bytes.withUnsafeBytes { (text) throws(FleeceError) in try matches(text) }
  }

  /// Returns whether the expression matches anywhere in a text, which must be UTF-8.
  ///
  /// Throws `interrupted` if the query of this thread has been cancelled; see ``QuerySteps``.
  func matches(_ text: UnsafeRawBufferPointer) throws(FleeceError) -> Bool {
    try PatternRun(program, table, text).run()
  }

  /// Like ``matches(_:)``, but without the table; for tests.
  func matchesByStep(_ string: String) throws(FleeceError) -> Bool {
    let text = Array(string.utf8)
    let table = PatternTable(program, entryLimit: 0)
    return try text.span.bytes.withUnsafeBytes { (text) throws(FleeceError) in
      try PatternRun(program, table, text).run()
    }
  }

  /// The maximum number of steps for one scalar.
  var size: Int { program.size }
}

/// One search in one text: by the table as far as it goes, and otherwise by single steps.
private struct PatternRun {
  private let program: PatternProgram
  private let table: PatternTable
  private let text: UnsafeRawBufferPointer
  private var at = 0

  init(_ program: PatternProgram, _ table: PatternTable, _ text: UnsafeRawBufferPointer) {
    self.program = program
    self.table = table
    self.text = text
  }

  /// The number of bytes from one report of steps to the next.
  private static let reportInterval = 8192

  consuming func run() throws(FleeceError) -> Bool {
    let known = QuerySteps.current
    var walk: PatternSteps?
    var state = 0
    while true {
      let start = at
      let entry = follow(from: &state)
      try known?.spend(at - start + 1)
      switch entry {
      case PatternTable.Entry.match: return true
      case PatternTable.Entry.none: return false
      // The interval is over.
      case PatternTable.Entry.unknown where at - start == PatternRun.reportInterval: continue
      default: break
      }
      if walk == nil {
        walk = PatternSteps(program) { (count) throws(FleeceError) in try known?.spend(count) }
      }
      guard var steps = walk.take() else { return false }
      let isMatch = try step(from: &state, &steps)
      try steps.flush()
      if let isMatch { return isMatch }
      walk = steps
    }
  }

  /// Follows the table from a state to the end of the text, or to where the table ends. Returns
  /// the entry there; `state` becomes the last state.
  private mutating func follow(from state: inout Int) -> Int16 {
    let table = table
    let (entries, classes) = (table.entries.span, table.classes.span)
    let end = min(text.count, at + PatternRun.reportInterval)
    var place = at
    defer { at = place }
    while place < end {
      let byte = text[place]
      if byte >= 0x80 { return PatternTable.Entry.unknown }
      var column = Int(classes[Int(byte)])
      if program.usesLastLineEnd, place + 1 == text.count, 0x0A...0x0D ~= byte {
        guard byte == 0x0A else { return PatternTable.Entry.unknown }
        column = table.lastNewline
      }
      let entry = entries[state * table.width + column]
      if entry < 0 { return entry }
      state = Int(entry)
      place += 1
    }
    return place < text.count ? PatternTable.Entry.unknown : entries[state * table.width + table.end]
  }

  /// Follows the automaton from a state of the table until there is a state of the table again.
  /// Returns whether the text matches; nil to continue with the table.
  private mutating func step(
    from state: inout Int, _ steps: inout PatternSteps
  ) throws(FleeceError) -> Bool? {
    var places = table.states[state].places
    var before = table.states[state].before
    var reached: [Int32] = []
    while true {
      let (next, length) = scalar()
      if try steps.take(next, at: places, after: before, into: &reached) { return true }
      guard let scalar = next.scalar else { return false }
      if reached.isEmpty, program.isAnchored { return false }
      at += length
      before = PatternContext(after: scalar, in: program)
      swap(&places, &reached)
      // Few places are worth looking up.
      if places.count <= 16, at == text.count || text[at] < 0x80,
        let number = table.number(of: places, after: before), table.isKnown(number)
      {
        state = number
        return nil
      }
    }
  }

  /// Returns what follows, and its length in bytes.
  private func scalar() -> (next: PatternNext, length: Int) {
    guard at < text.count else { return (.end, 0) }
    let (scalar, length) = decode()
    let isLast = program.usesLastLineEnd && at + length == text.count && ScalarProperty.isNewline(scalar)
    return (isLast ? .lastNewline(scalar) : .scalar(scalar), length)
  }

  private func decode() -> (Unicode.Scalar, length: Int) {
    let first = text[at]
    if first < 0x80 { return (Unicode.Scalar(first), 1) }
    let length = min(first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4, text.count - at)
    var value = UInt32(first) & (0x7F >> UInt32(length))
    for index in 1..<length { value = value << 6 | UInt32(text[at + index] & 0x3F) }
    return (Unicode.Scalar(value) ?? "\u{FFFD}", length)
  }
}

extension PatternTable {
  /// Returns whether the table has entries for a state.
  fileprivate func isKnown(_ state: Int) -> Bool { entries[state * width + end] != Entry.unknown }
}
