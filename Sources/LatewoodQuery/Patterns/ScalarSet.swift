/// A set of Unicode scalars: a literal, a class or an escape such as `\d` of a regular expression.
struct ScalarSet: Hashable {
  /// A property that many scalars have, whose values are those of the standard library.
  struct Member: Hashable {
    let property: ScalarProperty
    let isNegated: Bool
  }

  /// A scalar or an interval of scalars, in any order.
  private var ranges: [ClosedRange<UInt32>] = []
  /// Intervals that contain a scalar if they contain its lowercase or uppercase form.
  private var foldedRanges: [ClosedRange<UInt32>] = []
  /// The lowercase forms of scalars that are contained in both cases.
  private var foldedScalars: [String] = []
  private var members: [Member] = []
  var isNegated = false

  init() {}

  /// A literal.
  init(_ scalar: Unicode.Scalar, ignoringCase: Bool) {
    insert(scalar, ignoringCase: ignoringCase)
    if ignoringCase, scalar.isASCII { foldedScalars = [scalar.properties.lowercaseMapping] }
  }

  init(_ property: ScalarProperty, isNegated: Bool = false) {
    members = [Member(property: property, isNegated: isNegated)]
  }

  static let all: ScalarSet = {
    var set = ScalarSet()
    set.isNegated = true
    return set
  }()

  mutating func insert(_ property: ScalarProperty, isNegated: Bool) {
    members.append(Member(property: property, isNegated: isNegated))
  }

  /// Inserts a scalar. Of ASCII, only the two cases of a letter are equal.
  mutating func insert(_ scalar: Unicode.Scalar, ignoringCase: Bool) {
    insert(scalar...scalar, ignoringCase: ignoringCase && scalar.isASCII)
    if ignoringCase, !scalar.isASCII { foldedScalars.append(scalar.properties.lowercaseMapping) }
  }

  mutating func insert(_ range: ClosedRange<Unicode.Scalar>, ignoringCase: Bool) {
    let values = range.lowerBound.value...range.upperBound.value
    ranges.append(values)
    guard ignoringCase else { return }
    guard range.upperBound.isASCII else { return foldedRanges.append(values) }
    for (letters, distance) in [(UInt32(0x41)...0x5A, 0x20), (0x61...0x7A, -0x20)]
    where letters.overlaps(values) {
      let part = values.clamped(to: letters)
      let moved = { (letter: UInt32) in UInt32(Int(letter) + distance) }
      ranges.append(moved(part.lowerBound)...moved(part.upperBound))
    }
  }

  /// The number of comparisons for one scalar.
  var cost: Int { 1 + ranges.count + 2 * foldedRanges.count + foldedScalars.count + members.count }

  func contains(_ scalar: Unicode.Scalar) -> Bool { holds(scalar) != isNegated }

  private func holds(_ scalar: Unicode.Scalar) -> Bool {
    for range in ranges where range.contains(scalar.value) { return true }
    for member in members where member.property.contains(scalar) != member.isNegated { return true }
    guard !foldedRanges.isEmpty || !foldedScalars.isEmpty else { return false }
    let lower = scalar.properties.lowercaseMapping
    if foldedScalars.contains(lower) { return true }
    if foldedRanges.isEmpty { return false }
    return contains(folded: lower) || contains(folded: scalar.properties.uppercaseMapping)
  }

  /// Returns whether a folded interval contains the other case of a scalar, if that is one scalar.
  private func contains(folded text: String) -> Bool {
    let scalars = text.unicodeScalars
    guard let first = scalars.first, scalars.count == 1 else { return false }
    return foldedRanges.contains { $0.contains(first.value) }
  }
}

/// A property of Unicode scalars that an expression can name.
enum ScalarProperty: Hashable {
  /// `\w`: alphabetic, an ASCII digit, or an underscore.
  case word
  /// `\d`: a number of any kind, of which ² and ½ are two.
  case number
  /// `\s`
  case whitespace
  /// `\h`: a tab, or a space of any kind.
  case blank
  /// `\v`, and what `.` does not match: from line feed to carriage return, U+0085, U+2028, U+2029.
  case newline
  case ascii, alphabetic, alphanumeric, uppercase, lowercase, hexDigit
  case graphic
  case category(Set<Unicode.GeneralCategory>)

  func contains(_ scalar: Unicode.Scalar) -> Bool {
    let properties = scalar.properties
    switch self {
    case .word: return scalar == "_" || ("0"..."9").contains(scalar) || properties.isAlphabetic
    case .number: return properties.numericType != nil
    case .whitespace: return properties.isWhitespace
    case .blank: return scalar == "\t" || properties.generalCategory == .spaceSeparator
    case .newline: return ScalarProperty.isNewline(scalar)
    case .ascii: return scalar.isASCII
    case .alphabetic: return properties.isAlphabetic
    case .alphanumeric: return properties.isAlphabetic || properties.numericType != nil
    case .uppercase: return properties.isUppercase
    case .lowercase: return properties.isLowercase
    case .hexDigit: return properties.isHexDigit
    case .graphic:
      if properties.isWhitespace { return false }
      switch properties.generalCategory {
      case .control, .unassigned, .surrogate: return false
      default: return true
      }
    case .category(let categories): return categories.contains(properties.generalCategory)
    }
  }

  static func isNewline(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x0A...0x0D, 0x85, 0x2028, 0x2029: true
    default: false
    }
  }

  // MARK: Names

  /// The classes of POSIX, such as `[:alpha:]`.
  static let posix: [String: ScalarProperty] = [
    "alpha": .alphabetic, "digit": .category([.decimalNumber]), "alnum": .alphanumeric,
    "upper": .uppercase, "lower": .lowercase, "space": .whitespace, "blank": .blank,
    "punct": .category(punctuation), "cntrl": .category([.control]), "xdigit": .hexDigit,
    "graph": .graphic, "ascii": .ascii,
  ]

  /// Returns the property with a name in `\p{...}`. Case, spaces, hyphens and underscores make no
  /// difference.
  static func named(_ name: String) -> ScalarProperty? {
    let kept = name.lowercased().unicodeScalars.filter { !" -_".unicodeScalars.contains($0) }
    var name = String(String.UnicodeScalarView(kept))
    for prefix in ["gc=", "generalcategory="] where name.hasPrefix(prefix) {
      name.removeFirst(prefix.count)
      return categories[name].map { .category($0) }
    }
    switch name {
    case "ascii": return .ascii
    case "alphabetic", "alpha": return .alphabetic
    case "uppercase", "upper": return .uppercase
    case "lowercase", "lower": return .lowercase
    case "whitespace", "space": return .whitespace
    case "hexdigit", "xdigit": return .hexDigit
    case "alnum": return .alphanumeric
    case "assigned": return .category(everything.subtracting([.unassigned]))
    case "any": return .category(everything)
    default: return categories[name].map { .category($0) }
    }
  }

  private typealias Category = Unicode.GeneralCategory

  private static let cased: Set<Category> = [.uppercaseLetter, .lowercaseLetter, .titlecaseLetter]
  private static let letters = cased.union([.modifierLetter, .otherLetter])
  private static let marks: Set<Category> = [.nonspacingMark, .spacingMark, .enclosingMark]
  private static let numbers: Set<Category> = [.decimalNumber, .letterNumber, .otherNumber]
  private static let punctuation: Set<Category> = [
    .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation,
    .finalPunctuation, .otherPunctuation,
  ]
  private static let symbols: Set<Category> = [.mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol]
  private static let separators: Set<Category> = [.spaceSeparator, .lineSeparator, .paragraphSeparator]
  private static let others: Set<Category> = [.control, .format, .surrogate, .privateUse, .unassigned]
  private static let everything = letters.union(marks).union(numbers).union(punctuation).union(symbols)
    .union(separators).union(others)

  /// The general categories by their short and long names.
  private static let categories: [String: Set<Category>] = {
    let groups: [(String, String, Set<Category>)] = [
      ("l", "letter", letters), ("lc", "casedletter", cased), ("l&", "casedletter", cased),
      ("lu", "uppercaseletter", [.uppercaseLetter]), ("ll", "lowercaseletter", [.lowercaseLetter]),
      ("lt", "titlecaseletter", [.titlecaseLetter]), ("lm", "modifierletter", [.modifierLetter]),
      ("lo", "otherletter", [.otherLetter]), ("m", "mark", marks),
      ("mn", "nonspacingmark", [.nonspacingMark]), ("mc", "spacingmark", [.spacingMark]),
      ("me", "enclosingmark", [.enclosingMark]), ("n", "number", numbers),
      ("nd", "decimalnumber", [.decimalNumber]), ("nl", "letternumber", [.letterNumber]),
      ("no", "othernumber", [.otherNumber]), ("p", "punctuation", punctuation),
      ("pc", "connectorpunctuation", [.connectorPunctuation]),
      ("pd", "dashpunctuation", [.dashPunctuation]), ("ps", "openpunctuation", [.openPunctuation]),
      ("pe", "closepunctuation", [.closePunctuation]), ("pi", "initialpunctuation", [.initialPunctuation]),
      ("pf", "finalpunctuation", [.finalPunctuation]), ("po", "otherpunctuation", [.otherPunctuation]),
      ("punct", "punct", punctuation), ("digit", "digit", [.decimalNumber]), ("s", "symbol", symbols),
      ("sm", "mathsymbol", [.mathSymbol]), ("sc", "currencysymbol", [.currencySymbol]),
      ("sk", "modifiersymbol", [.modifierSymbol]), ("so", "othersymbol", [.otherSymbol]),
      ("z", "separator", separators), ("zs", "spaceseparator", [.spaceSeparator]),
      ("zl", "lineseparator", [.lineSeparator]), ("zp", "paragraphseparator", [.paragraphSeparator]),
      ("c", "other", others), ("cc", "control", [.control]), ("cntrl", "cntrl", [.control]),
      ("cf", "format", [.format]), ("cs", "surrogate", [.surrogate]), ("co", "privateuse", [.privateUse]),
      ("cn", "unassigned", [.unassigned]),
    ]
    var named: [String: Set<Category>] = [:]
    for (short, long, set) in groups {
      named[short] = set
      named[long] = set
    }
    return named
  }()
}
