import LatewoodFleece

/// The encoding of predicates as selectors, their stored form: Mango with an additional operator,
/// `$unless`, for a negation that also holds if the field is missing.
extension Predicate {
  /// Returns the selector in Fleece, which ``MangoParser/stored(_:)`` parses into this predicate.
  /// Throws `tooDeep` if it has too many levels.
  package func selector() throws(QueryError) -> [UInt8] {
    let bytes: [UInt8]
    let root: FleeceElement
    do throws(FleeceError) {
      var writer = FleeceWriter()
      try write(to: &writer)
      bytes = try writer.finish()
      root = try FleeceBody(written: bytes).root
    } catch { throw QueryError(.invalidSelector, "the condition cannot be stored: \(error)") }
    _ = try MangoParser.stored(root)
    return bytes
  }

  fileprivate func write(to writer: inout FleeceWriter) throws(FleeceError) {
    try writer.beginDictionary()
    switch self {
    case .always(true): break
    case .always(false): try Predicate.write("$nor", [.always(true)], to: &writer)
    case .all(let parts): try Predicate.write("$and", parts, to: &writer)
    case .any(let parts): try Predicate.write("$or", parts, to: &writer)
    case .not(let part):
      try writer.key(MangoParser.exactNegation)
      try part.write(to: &writer)
    case .field(let path, .equalsAny(let constants)):
      // In the form of single equalities, which every version reads.
      let parts = constants.listed.map { Predicate.field(path, .compare(.equal, $0)) }
      try Predicate.write("$or", parts, to: &writer)
    case .fields: throw Predicate.noSelectorOfFields
    case .text: throw Predicate.noSelectorOfText
    case .field(let path, let test):
      if path.steps.isEmpty {
        try test.writeMember(to: &writer)
      } else {
        // A backslash escapes a name that looks like an operator.
        try writer.key(path.text.hasPrefix("$") ? "\\" + path.text : path.text)
        try writer.beginDictionary()
        try test.writeMember(to: &writer)
        try writer.endDictionary()
      }
    }
    try writer.endDictionary()
  }

  private static var noSelectorOfFields: FleeceError {
    FleeceError(.misuse, "a selector, and so an index, cannot compare two fields with each other")
  }

  private static var noSelectorOfText: FleeceError {
    FleeceError(.misuse, "the condition of an index cannot depend on a full-text index")
  }

  fileprivate static func write(
    _ name: String, _ parts: [Predicate], to writer: inout FleeceWriter
  ) throws(FleeceError) {
    try writer.key(name)
    try writer.beginArray()
    for part in parts { try part.write(to: &writer) }
    try writer.endArray()
  }
}

extension FieldTest {
  /// Writes the operator and its argument. Apart from the operators without a condition inside, so
  /// that the stack of a small thread suffices in a debug build.
  fileprivate func writeMember(to writer: inout FleeceWriter) throws(FleeceError) {
    switch self {
    case .anyElement(let predicate): try FieldTest.write("$elemMatch", predicate, to: &writer)
    case .everyElement(let predicate): try FieldTest.write("$allMatch", predicate, to: &writer)
    case .anyKey(let predicate): try FieldTest.write("$keyMapMatch", predicate, to: &writer)
    case .fails(let test): try FieldTest.write(negationOf: test, to: &writer)
    default: try writeAlone(to: &writer)
    }
  }

  private static func write(
    negationOf test: FieldTest, to writer: inout FleeceWriter
  ) throws(FleeceError) {
    try writer.key("$not")
    try writer.beginDictionary()
    try test.writeMember(to: &writer)
    try writer.endDictionary()
  }

  private func writeAlone(to writer: inout FleeceWriter) throws(FleeceError) {
    switch self {
    case .compare(let comparison, let constant):
      try writer.key(comparison.name)
      try constant.write(to: &writer)
    case .isAmong(let constants): try FieldTest.write("$in", constants.listed, to: &writer)
    case .equalsAny(let constants):
      let parts = constants.listed.map { Predicate.field(.root, .compare(.equal, $0)) }
      try Predicate.write("$or", parts, to: &writer)
    case .containsAll(let constants): try FieldTest.write("$all", constants.listed, to: &writer)
    case .exists, .isMissing:
      try writer.key("$exists")
      if case .exists = self { try writer.boolean(true) } else { try writer.boolean(false) }
    case .hasType(let type): try FieldTest.write("$type", type.rawValue, to: &writer)
    case .hasCount(let count):
      try writer.key("$size")
      try writer.integer(Int64(count))
    case .countIs, .lengthIs:
      throw FleeceError(
        .misuse, "a selector, and so an index, cannot compare lengths, except those of arrays by ==")
    case .hasRemainder(let remainder, let divisor):
      try writer.key("$mod")
      try writer.beginArray()
      try writer.integer(divisor)
      try writer.integer(remainder)
      try writer.endArray()
    case .begins(let constant):
      try writer.key("$beginsWith")
      try constant.write(to: &writer)
    case .matches(let pattern): try FieldTest.write("$regex", pattern.storedText, to: &writer)
    case .anyElement, .everyElement, .anyKey, .fails: try writeMember(to: &writer)
    }
  }

  private static func write(
    _ name: String, _ constants: [Constant], to writer: inout FleeceWriter
  ) throws(FleeceError) {
    try writer.key(name)
    try writer.beginArray()
    for constant in constants { try constant.write(to: &writer) }
    try writer.endArray()
  }

  private static func write(
    _ name: String, _ text: String, to writer: inout FleeceWriter
  ) throws(FleeceError) {
    try writer.key(name)
    try writer.string(text)
  }

  private static func write(
    _ name: String, _ predicate: Predicate, to writer: inout FleeceWriter
  ) throws(FleeceError) {
    try writer.key(name)
    try predicate.write(to: &writer)
  }
}

extension Comparison {
  fileprivate var name: String {
    switch self {
    case .less: "$lt"
    case .lessOrEqual: "$lte"
    case .equal: "$eq"
    case .notEqual: "$ne"
    case .greaterOrEqual: "$gte"
    case .greater: "$gt"
    }
  }
}
