import LatewoodFleece
import LatewoodText

/// Parses a selector of CouchDB's Mango: an object of fields and conditions.
///
/// ```
/// {"year": {"$gt": 1975}, "cast": {"$elemMatch": {"$eq": "Harrison Ford"}}}
/// ```
///
/// A selector has the same meaning as in CouchDB 3.5. Where its documentation is silent, strings
/// compare by their bytes and numbers by their value, so that `$eq` and `$all` with 1.0 find 1. A
/// number without a fraction is stored as an integer however it was written, so `$mod` accepts it;
/// CouchDB does not accept 4.0. Source: the documentation of `/db/_find`.
package struct MangoParser {
  /// The maximum depth of nested conditions, greater than in any handwritten selector.
  static let depthLimit = 100
  /// An operator of stored selectors only: true if a condition does not hold, whether or not the
  /// field exists.
  static let exactNegation = "$unless"

  /// Returns the predicate of a selector.
  ///
  /// Throws `invalidSelector`, `unsupported` or `tooDeep` with the path in the selector.
  package static func predicate(of selector: FleeceElement) throws(QueryError) -> Predicate {
    let place = SelectorPath()
    let reader = MangoParser()
    try reader.require(
      try reader.kind(selector, place) == .dictionary,
      "a selector is an object, such as {\"year\": {\"$gt\": 1975}}", place)
    return try reader.condition(selector, at: place)
  }

  /// Returns the predicate of a selector written by ``Predicate/selector()``.
  package static func stored(_ selector: FleeceElement) throws(QueryError) -> Predicate {
    try MangoParser(isStored: true).condition(selector, at: SelectorPath())
  }

  /// Whether `$unless` is accepted, which only stored selectors use.
  private var isStored = false

  /// Returns the predicate of a selector in JSON text. Also throws if the text is not JSON, with
  /// line and column in the reason.
  package static func predicate(json text: String) throws(QueryError) -> Predicate {
    if let short = ShortSelector.predicate(json: text) { return short }
    return try longPredicate(json: text)
  }

  /// Returns the predicate of a selector in JSON text that is tested without full-text indexes.
  /// Throws `unsupported` if it has a `$text`.
  package static func predicateWithoutText(json text: String) throws(QueryError) -> Predicate {
    let predicate = try predicate(json: text)
    guard !predicate.hasText else { throw QueryError(.unsupported, "$text is not supported here") }
    return predicate
  }

  /// Like ``predicate(json:)``, but for selectors of all forms, which are converted to Fleece.
  static func longPredicate(json text: String) throws(QueryError) -> Predicate {
    let element = try reading("") { () throws(FleeceError) in try FleeceBody(JSON.fleece(from: text)).root }
    return try predicate(of: element)
  }

  // MARK: Conditions

  // The functions that conditions inside each other recurse through do little themselves, so that
  // the stack of a small thread suffices in a debug build.

  /// Returns the condition of an object, or of a bare value, on the field of a path.
  private func condition(_ element: FleeceElement, at place: SelectorPath) throws(QueryError) -> Predicate {
    guard let members = try members(of: element, at: place) else {
      return try equality(element, at: place)
    }
    if members.isEmpty { return .always(true) }
    var parts: [Predicate] = []
    for (name, value) in members { parts.append(try part(name, value, at: place)) }
    return parts.count == 1 ? parts[0] : .all(parts)
  }

  /// Returns the members of a condition; nil if it is a value that the field equals.
  private func members(
    of element: FleeceElement, at place: SelectorPath
  ) throws(QueryError) -> [(key: String, value: FleeceElement)]? {
    guard place.depth < MangoParser.depthLimit else {
      throw QueryError(
        .tooDeep, "conditions are nested more than \(MangoParser.depthLimit) levels deep", place: place.text
      )
    }
    let members = try reading(place.text) { () throws(FleeceError) in try element.members() }
    // An empty object as a selector has no conditions.
    return members?.isEmpty == true && !place.field.steps.isEmpty ? nil : members
  }

  /// Returns the condition of one member.
  private func part(
    _ name: String, _ value: FleeceElement, at place: SelectorPath
  ) throws(QueryError) -> Predicate {
    if isStored, name == MangoParser.exactNegation {
      return .not(try condition(value, at: place.entering(name)))
    }
    if name.utf8.first != UInt8(ascii: "$") {
      return try condition(value, at: place.entering(name, field: try path(name, at: place)))
    }
    return try predicate(try key(name, at: place), value, at: place.entering(name))
  }

  private func key(_ name: String, at place: SelectorPath) throws(QueryError) -> MangoOperator {
    guard let key = MangoOperator(rawValue: name) else { throw MangoOperator.unknown(name, at: place.text) }
    return key
  }

  private func path(_ name: String, at place: SelectorPath) throws(QueryError) -> FieldPath {
    do throws(QueryError) {
      return try FieldPath(parsing: name)
    } catch {
      throw QueryError(error.kind, error.reason, place: place.text)
    }
  }

  private func equality(_ element: FleeceElement, at place: SelectorPath) throws(QueryError) -> Predicate {
    place.test(.compare(.equal, try constant(element, at: place)))
  }

  private func constant(_ element: FleeceElement, at place: SelectorPath) throws(QueryError) -> Constant {
    try reading(place.text) { () throws(FleeceError) in try Constant(element) }
  }

  private func predicate(
    _ key: MangoOperator, _ value: FleeceElement, at place: SelectorPath
  ) throws(QueryError) -> Predicate {
    switch key {
    case .and, .or, .nor: return try combination(key, value, at: place)
    case .not: return try negation(value, at: place)
    case .elemMatch, .allMatch, .keyMapMatch: return try content(key, value, at: place)
    default: return try test(key, value, at: place)
    }
  }

  private func combination(
    _ key: MangoOperator, _ value: FleeceElement, at place: SelectorPath
  ) throws(QueryError) -> Predicate {
    let parts = try conditions(value, at: place)
    return key == .and ? .all(parts) : key == .or ? .any(parts) : .all(parts.map { $0.negated })
  }

  private func negation(_ value: FleeceElement, at place: SelectorPath) throws(QueryError) -> Predicate {
    try require(try kind(value, place) == .dictionary, "$not takes a condition, an object", place)
    return try condition(value, at: place).negated
  }

  private func content(
    _ key: MangoOperator, _ value: FleeceElement, at place: SelectorPath
  ) throws(QueryError) -> Predicate {
    let inner = try inner(value, at: place)
    return place.test(
      key == .elemMatch ? .anyElement(inner) : key == .allMatch ? .everyElement(inner) : .anyKey(inner))
  }

  /// Parses an operator without conditions inside.
  private func test(
    _ key: MangoOperator, _ value: FleeceElement, at place: SelectorPath
  ) throws(QueryError) -> Predicate {
    switch key {
    case .among: return place.test(.isAmong(try constants(value, at: place)))
    case .notAmong: return place.test(.fails(.isAmong(try constants(value, at: place))))
    case .all: return place.test(.containsAll(try constants(value, at: place)))
    case .exists, .type, .size, .mod, .regex, .beginsWith: return try scalar(key, value, at: place)
    case .text: return .text(try words(value, at: place))
    case .location, .locationWithin, .near, .nearSphere, .geoWithin, .geoIntersects:
      throw QueryError(.unsupported, "\(key.rawValue) is not supported here", place: place.text)
    default: return place.test(.compare(key.comparison, try constant(value, at: place)))
    }
  }

  /// Parses an operator whose argument is a boolean, number or string, or two numbers.
  private func scalar(
    _ key: MangoOperator, _ value: FleeceElement, at place: SelectorPath
  ) throws(QueryError) -> Predicate {
    switch key {
    case .exists:
      guard let isThere = try reading(place.text, { () throws(FleeceError) in try value.boolean() }) else {
        throw refusal("$exists takes true or false", place)
      }
      return place.test(isThere ? .exists : .isMissing)
    case .size:
      guard let count = try integer(value, place), count >= 0 else {
        throw refusal("$size takes a number of elements, from 0", place)
      }
      return place.test(.hasCount(Int(clamping: count)))
    case .mod:
      guard let parts = try elements(value, place), parts.count == 2,
        let divisor = try integer(parts[0], place), let remainder = try integer(parts[1], place), divisor != 0
      else { throw refusal("$mod takes two integers, [divisor, remainder], and does not divide by 0", place) }
      return place.test(.hasRemainder(remainder, modulo: divisor))
    default:
      guard let text = try reading(place.text, { () throws(FleeceError) in try value.string() }) else {
        throw refusal("\(key.rawValue) takes a string", place)
      }
      return place.test(try textual(key, text, value, at: place))
    }
  }

  private func textual(
    _ key: MangoOperator, _ text: String, _ value: FleeceElement, at place: SelectorPath
  ) throws(QueryError) -> FieldTest {
    switch key {
    case .type:
      guard let type = ValueType(rawValue: text) else {
        let known = ValueType.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        throw refusal("$type takes one of \(known)", place)
      }
      return .hasType(type)
    case .regex:
      do throws(QueryError) {
        return .matches(isStored ? try Pattern(stored: text) : try Pattern(text))
      } catch {
        // An earlier release may have accepted what it stored.
        throw QueryError(isStored ? .unsupported : error.kind, error.reason, place: place.text)
      }
    default: return .begins(try constant(value, at: place))
    }
  }

  // MARK: Words

  /// Parses a condition on the words of a document: the text of a query, or an object.
  ///
  /// ```
  /// {"$text": "blue sky"}                                         by the only full-text index
  /// {"$text": {"index": "by text", "query": "title:sky"}}
  /// {"$text": {"index": "by text", "words": "any text", "any": true}}
  /// ```
  private func words(_ value: FleeceElement, at place: SelectorPath) throws(QueryError) -> TextCondition {
    guard !isStored, !place.isInside, place.field.steps.isEmpty else {
      throw QueryError(
        .unsupported, "$text is a condition on documents, not on their members or elements",
        place: place.text)
    }
    var index = ""
    var found: TextCondition.Words?
    do throws(FleeceError) {
      if let text = try value.string() {
        found = .query(text)
      } else {
        index = try value.element(for: "index")?.string() ?? ""
        found = try MangoParser.words(of: value)
      }
    } catch { throw QueryError(.invalidSelector, "\(error)", place: place.text) }
    guard let words = found else {
      throw refusal("$text takes a text, or an object with a query or words, and the name of an index", place)
    }
    do throws(TextQueryError) { _ = try words.query() } catch {
      throw QueryError(
        .invalidSelector, "the full-text query is not valid: \(error.description)", place: place.text)
    }
    return TextCondition(index: index, words)
  }

  private static func words(of value: FleeceElement) throws(FleeceError) -> TextCondition.Words? {
    let known: Set = ["index", "query", "words", "any"]
    guard let members = try value.members(), members.allSatisfy({ known.contains($0.key) }) else {
      return nil
    }
    let any = try value.element(for: "any")?.boolean() ?? false
    switch (try value.element(for: "query")?.string(), try value.element(for: "words")?.string()) {
    case (let query?, nil): return .query(query)
    case (nil, let words?): return .words(words, any: any, lastIsPrefix: false)
    default: return nil
    }
  }

  // MARK: Arguments

  private func conditions(_ value: FleeceElement, at place: SelectorPath) throws(QueryError) -> [Predicate] {
    guard let elements = try elements(value, place) else {
      throw refusal("\(place.last) takes an array of conditions", place)
    }
    var parts: [Predicate] = []
    for (index, element) in elements.enumerated() {
      parts.append(try condition(element, at: place.entering("\(index)")))
    }
    return parts
  }

  private func constants(_ value: FleeceElement, at place: SelectorPath) throws(QueryError) -> ConstantSet {
    guard let elements = try elements(value, place) else {
      throw refusal("\(place.last) takes an array of values", place)
    }
    var constants: [Constant] = []
    for element in elements { constants.append(try constant(element, at: place)) }
    return ConstantSet(constants)
  }

  /// Parses a condition on a value inside the field, to which its paths are relative.
  private func inner(_ value: FleeceElement, at place: SelectorPath) throws(QueryError) -> Predicate {
    try require(try kind(value, place) == .dictionary, "\(place.last) takes a condition, an object", place)
    return try condition(value, at: place.inside())
  }

  private func elements(_ value: FleeceElement, _ place: SelectorPath) throws(QueryError) -> [FleeceElement]?
  {
    try reading(place.text) { () throws(FleeceError) in
      guard try value.kind == .array, let count = try value.count() else { return nil }
      var elements: [FleeceElement] = []
      for index in 0..<count { try value.element(at: index).map { elements.append($0) } }
      return elements
    }
  }

  private func integer(_ value: FleeceElement, _ place: SelectorPath) throws(QueryError) -> Int64? {
    let number = try reading(place.text) { () throws(FleeceError) in try value.number() }
    if case .integer(let integer)? = number { return integer }
    return nil
  }

  private func kind(_ value: FleeceElement, _ place: SelectorPath) throws(QueryError) -> FleeceValue.Kind {
    try reading(place.text) { () throws(FleeceError) in try value.kind }
  }

  private func refusal(_ reason: String, _ place: SelectorPath) -> QueryError {
    QueryError(.invalidSelector, reason, place: place.text)
  }

  private func require(_ holds: Bool, _ reason: String, _ place: SelectorPath) throws(QueryError) {
    if !holds { throw refusal(reason, place) }
  }
}

/// A path in a selector: the field of its conditions, and the names that lead to it.
private struct SelectorPath {
  var field = FieldPath.root
  var names: [String] = []
  var depth = 0
  /// Whether the field is of a value in the document, and not of the document itself.
  var isInside = false

  var text: String { names.joined(separator: ".") }
  var last: String { names.last ?? "" }

  func entering(_ name: String, field more: FieldPath = .root) -> SelectorPath {
    SelectorPath(
      field: field.appending(more), names: names + [name], depth: depth + 1, isInside: isInside)
  }

  func inside() -> SelectorPath {
    SelectorPath(field: .root, names: names, depth: depth, isInside: true)
  }

  func test(_ test: FieldTest) -> Predicate { .field(field, test) }
}

private func reading<R>(_ place: String, _ body: () throws(FleeceError) -> R) throws(QueryError) -> R {
  do throws(FleeceError) {
    return try body()
  } catch {
    throw QueryError(.invalidSelector, "\(error)", place: place)
  }
}
