/// Escapes and classes.
extension PatternParser {
  // MARK: Escapes

  /// Parses an escape outside a class.
  mutating func escape() throws(QueryError) {
    guard let letter = peek(1) else { throw refusal("the expression ends with a backslash") }
    switch letter {
    case "A": check(.textStart, length: 2)
    case "z": check(.textEnd, length: 2)
    case "Z": check(.lastLineEnd, length: 2)
    case "b": check(.wordBoundary, length: 2)
    case "B": check(.noWordBoundary, length: 2)
    case "R":
      at += 2
      add(lineBreak())
    case "Q": try quote()
    case "1"..."9", "k", "g": throw unsupported("a back reference")
    default:
      if let (property, isNegated) = try property() {
        add(ScalarSet(property, isNegated: isNegated))
      } else {
        add(try scalar())
      }
    }
  }

  /// `\R`: a newline, or the two of CR LF, of which the first alone is none.
  private mutating func lineBreak() -> Code {
    let (first, second) = (ScalarSet("\r", ignoringCase: false), ScalarSet("\n", ignoringCase: false))
    let start = code(of: first)
    var others = ScalarSet("\r", ignoringCase: false)
    others.insert(.newline, isNegated: true)
    others.isNegated = true
    return alternatives([
      start + code(of: second), start + [.check(.noLineFeed)], code(of: others),
    ])
  }

  /// Parses literal text up to `\E`, or to the end.
  private mutating func quote() throws(QueryError) {
    at += 2
    while at < scalars.count, !starts(with: "\\E") {
      add(scalars[at])
      at += 1
    }
    at = min(at + 2, scalars.count)
  }

  /// Parses an escape for a class of scalars; nil if the escape is not one.
  private mutating func property() throws(QueryError) -> (ScalarProperty, isNegated: Bool)? {
    let found: (ScalarProperty, Bool)
    switch peek(1) {
    case "d": found = (.number, false)
    case "D": found = (.number, true)
    case "w": found = (.word, false)
    case "W": found = (.word, true)
    case "s": found = (.whitespace, false)
    case "S": found = (.whitespace, true)
    case "h": found = (.blank, false)
    case "H": found = (.blank, true)
    case "v": found = (.newline, false)
    case "V": found = (.newline, true)
    case "p": return try named(isNegated: false)
    case "P": return try named(isNegated: true)
    default: return nil
    }
    // Earlier releases took CR LF for one character that is no digit, blank or letter.
    if found.0 == .word || found.1 && found.0 != .whitespace && found.0 != .newline { isReinterpreted = true }
    at += 2
    return found
  }

  /// Parses `\p{name}`.
  private mutating func named(isNegated: Bool) throws(QueryError) -> (ScalarProperty, isNegated: Bool) {
    let start = at
    at += 2
    guard peek() == "{" else { throw refusal("\\p takes the name of a property in braces", at: start) }
    at += 1
    var name = String.UnicodeScalarView()
    while let next = peek(), next != "}" {
      name.append(next)
      at += 1
    }
    guard peek() == "}" else { throw refusal("\\p takes the name of a property in braces", at: start) }
    at += 1
    guard let property = ScalarProperty.named(String(name)) else {
      throw unknown("the property \(String(name))", at: start)
    }
    return (property, isNegated)
  }

  /// Parses an escape for a single scalar.
  private mutating func scalar() throws(QueryError) -> Unicode.Scalar {
    let start = at
    guard let letter = peek(1) else { throw refusal("the expression ends with a backslash") }
    at += 2
    switch letter {
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "f": return "\u{0C}"
    case "a": return "\u{07}"
    case "e": return "\u{1B}"
    case "0": return try number(radix: 8, 0...2, start)
    case "o": return try number(radix: 8, nil, start)
    case "x": return try number(radix: 16, peek() == "{" ? nil : 1...2, start)
    case "u": return try number(radix: 16, peek() == "{" ? nil : 4...4, start)
    case "U": return try number(radix: 16, 8...8, start)
    default:
      let isPlain = letter.isASCII && !letter.properties.isAlphabetic && !("0"..."9").contains(letter)
      guard isPlain else { throw unknown("the escape \\\(letter)", at: start) }
      return letter
    }
  }

  /// Parses the digits of a scalar.
  ///
  /// - Parameter digits: the allowed number of digits; nil for any number in braces.
  private mutating func number(
    radix: Int, _ digits: ClosedRange<Int>?, _ start: Int
  ) throws(QueryError) -> Unicode.Scalar {
    if digits == nil {
      guard peek() == "{" else { throw refusal("the escape takes digits in braces", at: start) }
      at += 1
    }
    var value = 0
    var count = 0
    while let next = peek(), next.isASCII, count < digits?.upperBound ?? 8,
      let digit = Character(next).hexDigitValue, digit < radix
    {
      value = value * radix + digit
      count += 1
      at += 1
    }
    if digits == nil {
      guard peek() == "}", count > 0 else { throw refusal("the escape takes digits in braces", at: start) }
      at += 1
    }
    guard count >= digits?.lowerBound ?? 1 else {
      throw refusal("the escape takes \(digits?.lowerBound ?? 1) digits or more", at: start)
    }
    guard let scalar = Unicode.Scalar(UInt32(clamping: value)) else {
      throw refusal("the number is not that of a Unicode scalar", at: start)
    }
    return scalar
  }

  // MARK: Classes

  private enum ClassItem {
    case scalar(Unicode.Scalar)
    case property(ScalarProperty, isNegated: Bool)
  }

  mutating func scalarClass() throws(QueryError) -> ScalarSet {
    let start = at
    var set = ScalarSet()
    at += 1
    if peek() == "^" {
      set.isNegated = true
      at += 1
    }
    if peek() == ":", scalars[at...].dropFirst().prefix(while: { $0 != "]" }).last == ":" {
      throw refusal("a class of POSIX is written in two brackets: [[:alpha:]]", at: start)
    }
    var isEmpty = true
    while true {
      guard let next = peek() else { throw refusal("the class is not closed with a ]", at: start) }
      if next == "]" {
        if isEmpty { throw refusal("the class is empty; a ] in it is written \\]", at: start) }
        at += 1
        return set
      }
      if flags.isExtended, next.properties.isPatternWhitespace {
        at += 1
        continue
      }
      isEmpty = false
      try item(into: &set)
    }
  }

  /// Parses a scalar, a range or a class inside a class.
  private mutating func item(into set: inout ScalarSet) throws(QueryError) {
    let start = at
    guard case .scalar(let first) = try classItem(into: &set) else { return }
    guard peek() == "-", let next = peek(1), next != "]" else {
      set.insert(first, ignoringCase: flags.ignoresCase)
      return
    }
    if next == "-" { throw unknown("an operation on classes (--)") }
    at += 1
    var other = ScalarSet()
    guard case .scalar(let last) = try classItem(into: &other), first <= last else {
      throw refusal("the range is not one of ascending characters", at: start)
    }
    set.insert(first...last, ignoringCase: flags.ignoresCase)
  }

  /// Parses a scalar, or inserts a class inside a class.
  private mutating func classItem(into set: inout ScalarSet) throws(QueryError) -> ClassItem {
    let start = at
    guard let scalar = peek() else { throw refusal("the class is not closed with a ]") }
    switch scalar {
    case "\\":
      if peek(1) == "b" {
        at += 2
        return .scalar("\u{08}")
      }
      if let (property, isNegated) = try property() {
        set.insert(property, isNegated: isNegated)
        if peek() == "-", peek(1) != "]" { throw refusal("a class is not the start of a range", at: start) }
        return .property(property, isNegated: isNegated)
      }
      return .scalar(try self.scalar())
    case "[":
      guard peek(1) == ":" else {
        throw unknown("a class inside a class (a single bracket is written \\[)")
      }
      return try posixClass(into: &set)
    case "&" where peek(1) == "&", "~" where peek(1) == "~", "-" where peek(1) == "-":
      throw unknown("an operation on classes (\(scalar)\(scalar))")
    case "#" where flags.isExtended:
      throw unknown("a # in a class of an extended expression (write \\#)")
    default:
      at += 1
      return .scalar(scalar)
    }
  }

  private mutating func posixClass(into set: inout ScalarSet) throws(QueryError) -> ClassItem {
    let start = at
    at += 2
    let isNegated = peek() == "^"
    if isNegated { at += 1 }
    var name = String.UnicodeScalarView()
    while let next = peek(), next != ":" {
      name.append(next)
      at += 1
    }
    guard starts(with: ":]") else { throw refusal("the class is not closed with :]", at: start) }
    at += 2
    guard let property = ScalarProperty.posix[String(name)] else {
      throw unknown("the class [:\(String(name)):]", at: start)
    }
    set.insert(property, isNegated: isNegated)
    return .property(property, isNegated: isNegated)
  }
}
