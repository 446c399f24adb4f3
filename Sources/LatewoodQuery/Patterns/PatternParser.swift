/// Parses a regular expression into the code of an automaton.
///
/// ```
/// a . [a-z] [^a-z] [[:alpha:]]     a scalar; `.` is any except newlines
/// \d \w \s \h \v \R  \D \W \S      classes; \p{L} \P{L} general categories and common properties
/// \n \t \x41 \x{41} \u0041 \Q.*\E  escapes
/// ^ $ \A \z \Z \b \B               places
/// ab  a|b  (a) (?:a) (?<name>a)    sequences, alternatives, groups
/// * + ? {2} {2,} {,3} {2,3}        repetitions, also lazy: *? +? ??
/// (?i) (?m) (?s) (?x) (?i:a)       case-insensitive, multi-line, dot matches newlines, extended
/// ```
///
/// Groups are kept on a stack of frames, and code is relocatable, so no depth of groups takes more
/// stack. A whole match is not needed, so lazy and greedy repetitions are the same.
struct PatternParser {
  /// The maximum number of groups inside each other.
  static let depthLimit = 250

  struct Flags {
    var ignoresCase = false
    var dotTakesNewlines = false
    var isMultiline = false
    var isExtended = false
  }

  typealias Code = [PatternInstruction]

  /// A group that is not closed yet, or the whole expression.
  private struct Frame {
    /// The position of its parenthesis.
    let start: Int
    /// The flags before it.
    let flags: Flags
    var alternatives: [Code] = []
    var code: Code = []
    /// The last term, which a quantifier repeats; nil if it cannot be repeated.
    var term: Code?

    mutating func add(_ next: Code, isRepeatable: Bool = true) {
      code += term ?? []
      term = isRepeatable ? next : nil
      if !isRepeatable { code += next }
    }
  }

  let scalars: [Unicode.Scalar]
  var at = 0
  var flags = Flags()
  private let text: String
  private var frames: [Frame] = []
  private var names: Set<String> = []
  private var sets: [ScalarSet] = []
  private var numbers: [ScalarSet: Int32] = [:]

  /// Whether earlier releases understood the expression in another way: the boundaries of words
  /// were those of Unicode Technical Report 29, digits before a letter outside of ASCII were not
  /// among `\w`, and a character with combining marks was repeated as one.
  var isReinterpreted = false

  init(_ text: String) {
    self.text = text
    scalars = Array(text.unicodeScalars)
    isReinterpreted = text.utf8.contains { $0 >= 0x80 || $0 == 0x0D } && text.count != scalars.count
  }

  /// Throws `invalidSelector` or `unsupported` with the position in the text.
  mutating func program() throws(QueryError) -> PatternProgram {
    frames = [Frame(start: 0, flags: flags)]
    while at < scalars.count { try term() }
    guard frames.count == 1 else {
      throw refusal("the group is not closed with a )", at: frames[frames.count - 1].start)
    }
    let code = try closed(frames[0])
    return PatternProgram(code, sets)
  }

  // MARK: Errors

  func refusal(_ reason: String, at place: Int? = nil) -> QueryError {
    QueryError(
      .invalidSelector,
      "\"\(text)\" is not a regular expression: \(reason), at character \((place ?? at) + 1)")
  }

  func unsupported(_ what: String, at place: Int? = nil) -> QueryError {
    QueryError(
      .unsupported,
      "the regular expression \"\(text)\" has \(what), at character \((place ?? at) + 1), "
        + "which is not supported, because matching must take linear time")
  }

  func unknown(_ what: String, at place: Int? = nil) -> QueryError {
    QueryError(
      .unsupported,
      "the regular expression \"\(text)\" has \(what), at character \((place ?? at) + 1), "
        + "which is not supported here")
  }

  // MARK: Terms

  func peek(_ distance: Int = 0) -> Unicode.Scalar? {
    at + distance < scalars.count ? scalars[at + distance] : nil
  }

  func starts(with word: String) -> Bool { scalars[at...].starts(with: word.unicodeScalars) }

  private mutating func term() throws(QueryError) {
    let scalar = scalars[at]
    switch scalar {
    case "(": try open()
    case ")": try close()
    case "|":
      at += 1
      let code = frames[frames.count - 1].code + (frames[frames.count - 1].term ?? [])
      frames[frames.count - 1].alternatives.append(code)
      frames[frames.count - 1].code = []
      frames[frames.count - 1].term = nil
    case "*": try repetition(0, nil, length: 1)
    case "+": try repetition(1, nil, length: 1)
    case "?": try repetition(0, 1, length: 1)
    case "{":
      if let (least, most, length) = try bounds() {
        try repetition(least, most, length: length)
      } else {
        literal(scalar)
      }
    case "[": add(try scalarClass())
    case ".":
      at += 1
      add(flags.dotTakesNewlines ? .all : ScalarSet(.newline, isNegated: true))
    case "^": check(flags.isMultiline ? .lineStart : .textStart, length: 1)
    case "$": check(flags.isMultiline ? .lineEnd : .textEnd, length: 1)
    case "\\": try escape()
    case "#" where flags.isExtended:
      while let next = peek(), !ScalarProperty.isNewline(next) { at += 1 }
    case _ where flags.isExtended && scalar.properties.isPatternWhitespace: at += 1
    default: literal(scalar)
    }
  }

  private mutating func literal(_ scalar: Unicode.Scalar) {
    at += 1
    add(scalar)
  }

  mutating func add(_ scalar: Unicode.Scalar) {
    add(ScalarSet(scalar, ignoringCase: flags.ignoresCase))
  }

  mutating func add(_ set: ScalarSet) { add(code(of: set)) }

  mutating func add(_ code: Code) { frames[frames.count - 1].add(code) }

  func alternatives(_ parts: [Code]) -> Code {
    guard parts.count > 1 else { return parts.first ?? [] }
    var code: Code = []
    // Each part but the last is followed by a jump behind all of them.
    var rest = parts.reduce(0) { $0 + $1.count + 2 } - 2
    for (index, part) in parts.enumerated() {
      guard index < parts.count - 1 else {
        code += part
        break
      }
      rest -= part.count + 1
      code.append(.split(1, Int32(part.count) + 2))
      code += part
      code.append(.jump(Int32(rest)))
      rest -= 1
    }
    return code
  }

  mutating func code(of set: ScalarSet) -> Code {
    if let known = numbers[set] { return [.scalar(known)] }
    let number = Int32(sets.count)
    numbers[set] = number
    sets.append(set)
    return [.scalar(number)]
  }

  mutating func check(_ assertion: PatternAssertion, length: Int) {
    at += length
    switch assertion {
    case .wordBoundary, .noWordBoundary: isReinterpreted = true
    default: break
    }
    frames[frames.count - 1].add([.check(assertion)], isRepeatable: false)
  }

  private func closed(_ frame: Frame) throws(QueryError) -> Code {
    let code = alternatives(frame.alternatives + [frame.code + (frame.term ?? [])])
    guard size(code) <= PatternProgram.sizeLimit else { throw tooLarge() }
    return code
  }

  private func tooLarge() -> QueryError {
    QueryError(
      .tooLarge,
      "the regular expression \"\(text.prefix(100))\" is too large with its repetitions written out, "
        + "at character \(at + 1)")
  }

  private func size(_ code: Code) -> Int {
    code.reduce(0) { sum, next in
      if case .scalar(let number) = next { return sum + 1 + sets[Int(number)].cost }
      return sum + 1
    }
  }

  // MARK: Repetitions

  /// Parses a repetition in braces; nil if they are literal.
  private func bounds() throws(QueryError) -> (least: Int, most: Int?, length: Int)? {
    var place = at + 1
    func skipSpace() { while place < scalars.count, scalars[place] == " " { place += 1 } }
    func number() throws(QueryError) -> Int? {
      skipSpace()
      var value: Int?
      while place < scalars.count, ("0"..."9").contains(scalars[place]) {
        let (product, isOver) = (value ?? 0).multipliedReportingOverflow(by: 10)
        guard !isOver, product < 1 << 32 else { throw tooLarge() }
        value = product + Int(scalars[place].value - 0x30)
        place += 1
      }
      skipSpace()
      return value
    }
    let least = try number()
    var most = least
    if place < scalars.count, scalars[place] == "," {
      place += 1
      most = try number()
      if least == nil, most == nil { return nil }
    } else if least == nil {
      return nil
    }
    guard place < scalars.count, scalars[place] == "}" else { return nil }
    if let least, let most, least > most {
      throw refusal("the least number of repetitions is greater than the greatest")
    }
    return (least ?? 0, most, place + 1 - at)
  }

  private mutating func repetition(_ least: Int, _ most: Int?, length: Int) throws(QueryError) {
    guard let term = frames[frames.count - 1].term else {
      throw refusal("there is nothing to repeat before it")
    }
    let start = at
    at += length
    if flags.isExtended { while let next = peek(), next.properties.isPatternWhitespace { at += 1 } }
    if peek() == "+" { throw unsupported("a possessive quantifier", at: start) }
    if peek() == "?" { at += 1 }
    let copies = max(most ?? least, 1)
    let (size, isOver) = (size(term) + 1).multipliedReportingOverflow(by: copies)
    guard !isOver, size <= PatternProgram.sizeLimit else {
      at = start
      throw tooLarge()
    }
    noteReinterpretation(ofRepeated: term)
    frames[frames.count - 1].term = []
    let code = PatternParser.repeated(term, least, most)
    frames[frames.count - 1].add(code, isRepeatable: false)
  }

  /// Earlier releases took the sign of the unit kelvin for a letter K, but not in a repetition.
  private mutating func noteReinterpretation(ofRepeated term: Code) {
    guard term.count == 1, case .scalar(let number) = term[0] else { return }
    for letter in ["k", "K"] as [Unicode.Scalar]
    where sets[Int(number)] == ScalarSet(letter, ignoringCase: true) { isReinterpreted = true }
  }

  private static func repeated(_ term: Code, _ least: Int, _ most: Int?) -> Code {
    if term.isEmpty { return [] }
    let length = Int32(term.count)
    var code: Code = []
    for _ in 0..<max(least, 0) { code += term }
    guard let most else {
      if least == 0 { return [.split(1, length + 2)] + term + [.jump(-(length + 1))] }
      code.append(.split(-length, 1))
      return code
    }
    for index in 0..<(most - least) {
      // Each further copy can be left out, together with those after it.
      code.append(.split(1, Int32(most - least - index) * (length + 1)))
      code += term
    }
    return code
  }

  // MARK: Groups

  private mutating func open() throws(QueryError) {
    let start = at
    if peek(1) == "*" { throw unknown("a verb (*...)") }
    at += 1
    guard peek() == "?" else { return try push(start, flags) }
    at += 1
    switch peek() {
    case ":":
      at += 1
      try push(start, flags)
    case "#":
      while let next = peek(), next != ")" { at += 1 }
      guard peek() == ")" else { throw refusal("the comment is not closed with a )", at: start) }
      at += 1
    case "=", "!": throw unsupported("lookahead", at: start)
    case ">": throw unsupported("an atomic group", at: start)
    case "|": throw unknown("a group that resets the numbers of its alternatives", at: start)
    case "(": throw unsupported("a condition", at: start)
    case "<" where peek(1) == "=" || peek(1) == "!": throw unsupported("lookbehind", at: start)
    case "P" where peek(1) == "=": throw unsupported("a back reference", at: start)
    case "P" where peek(1) == ">", "R", "&", "C": throw unsupported("a recursion", at: start)
    case "P" where peek(1) == "<": try name(skipping: 2, until: ">", start)
    case "<": try name(skipping: 1, until: ">", start)
    case "'": try name(skipping: 1, until: "'", start)
    case let next? where ("0"..."9").contains(next) || next == "+":
      throw unsupported("a recursion", at: start)
    case "-" where peek(1).map { ("0"..."9").contains($0) } == true:
      throw unsupported("a recursion", at: start)
    default: try flagGroup(start)
    }
  }

  private mutating func push(_ start: Int, _ inner: Flags) throws(QueryError) {
    guard frames.count <= PatternParser.depthLimit else {
      throw QueryError(
        .tooDeep,
        "groups are nested more than \(PatternParser.depthLimit) levels deep in a regular expression")
    }
    frames.append(Frame(start: start, flags: flags))
    flags = inner
  }

  private mutating func close() throws(QueryError) {
    guard frames.count > 1, let frame = frames.popLast() else {
      throw refusal("there is no ( for this )")
    }
    let code = try closed(frame)
    at += 1
    flags = frame.flags
    frames[frames.count - 1].add(code)
  }

  private mutating func name(
    skipping length: Int, until end: Unicode.Scalar, _ start: Int
  ) throws(QueryError) {
    at += length
    var name = String.UnicodeScalarView()
    while let next = peek(), next != end {
      guard next == "_" || next.properties.isAlphabetic || !name.isEmpty && ("0"..."9").contains(next) else {
        throw refusal("the name of a group has letters, digits and underscores, and begins with no digit")
      }
      name.append(next)
      at += 1
    }
    guard peek() == end, !name.isEmpty else { throw refusal("the group has no name", at: start) }
    guard names.insert(String(name)).inserted else {
      throw refusal("two groups have the name \(String(name))", at: start)
    }
    at += 1
    try push(start, flags)
  }

  /// Parses flags, which hold for a group or for the rest of the enclosing one.
  private mutating func flagGroup(_ start: Int) throws(QueryError) {
    var inner = flags
    var isSet = true
    if peek() == "^" {
      inner = Flags()
      at += 1
    }
    while let next = peek() {
      switch next {
      case "i": inner.ignoresCase = isSet
      case "m": inner.isMultiline = isSet
      case "s": inner.dotTakesNewlines = isSet
      case "x": inner.isExtended = isSet
      // What groups capture, and greed, make no difference here.
      case "n", "U": break
      case "-":
        guard isSet else { throw refusal("the flags have two hyphens") }
        isSet = false
      case ":":
        at += 1
        return try push(start, inner)
      case ")":
        at += 1
        flags = inner
        // The flags are not a term, and what precedes them is not repeated.
        frames[frames.count - 1].add([], isRepeatable: false)
        return
      default: throw unknown("the flag or group (?\(next)")
      }
      at += 1
    }
    throw refusal("the group is not closed with a )", at: start)
  }
}
