import LatewoodFleece

/// The definition of an index: its fields in order, and the condition on its documents.
///
/// ```
/// address.city, age desc        one entry for each document
/// cast[]                        one for each distinct element of the array
/// title  where {"year": ...}    only for documents that meet a condition
/// ```
package struct IndexDefinition: Sendable {
  /// A field of an index.
  package struct Part: Sendable, Hashable {
    package let path: FieldPath
    package let isDescending: Bool
    /// Whether there is an entry for each element of the array. A value that is not an array then
    /// has no entry.
    package let isEach: Bool

    package init(_ path: FieldPath, isDescending: Bool = false, isEach: Bool = false) {
      self.path = path
      self.isDescending = isDescending
      self.isEach = isEach
    }

    /// Parses `path`, `path[]`, and either with `:asc` or `:desc` appended. A backslash before the
    /// bracket or the colon makes it a part of the name.
    package init(parsing text: String) throws(QueryError) {
      var rest = text[...]
      let isDescending = Part.take(":desc", from: &rest)
      if !isDescending { _ = Part.take(":asc", from: &rest) }
      let isEach = Part.take("[]", from: &rest)
      self.init(try FieldPath(parsing: String(rest)), isDescending: isDescending, isEach: isEach)
    }

    /// Parses `path` and `path[]`, without a direction.
    package init(parsingPath text: String) throws(QueryError) {
      var rest = text[...]
      let isEach = Part.take("[]", from: &rest)
      self.init(try FieldPath(parsing: String(rest)), isEach: isEach)
    }

    /// Removes an ending; returns false if the text has another, or a backslash escapes this one.
    private static func take(_ ending: String, from text: inout Substring) -> Bool {
      guard text.utf8.suffix(ending.utf8.count).elementsEqual(ending.utf8) else { return false }
      let rest = text.utf8.dropLast(ending.utf8.count)
      let backslashes = rest.reversed().prefix { $0 == UInt8(ascii: "\\") }.count
      guard backslashes.isMultiple(of: 2) else { return false }
      text = Substring(rest)
      return true
    }

    /// The text form, which `init(parsing:)` parses.
    package var text: String {
      var name = path.text
      for ending in [":desc", ":asc"] where !isEach && name.hasSuffix(ending) {
        name = name.dropLast(ending.count) + "\\" + ending
      }
      return name + (isEach ? "[]" : "") + (isDescending ? ":desc" : "")
    }
  }

  package static let partLimit = 8
  /// The maximum length of a stored condition, in bytes.
  package static let conditionLimit = 1 << 16

  package let parts: [Part]
  /// The condition on documents with entries; nil for all documents.
  package let condition: Predicate?
  /// The stored form of the condition, in Fleece; empty without a condition.
  package let conditionBytes: [UInt8]
  /// The reason why the condition of a stored index cannot be tested, such as a regular expression
  /// that only an earlier release understood. The index is not used then, and its entries do not
  /// change; nil for all others.
  package let objection: QueryError?
  /// Whether local saves refuse a second document with the same values.
  package let isUnique: Bool
  /// Whether a field is an array with an entry for each element.
  package let hasEach: Bool
  /// The fields, if every document has one key and all its fields are members of the body;
  /// otherwise empty.
  package let plainParts: [Part]

  /// Creates a definition. Throws `invalidIndex` if it is not valid; `invalidSelector` if the
  /// condition cannot be stored.
  package init(
    _ parts: [Part], where condition: Predicate? = nil, isUnique: Bool = false
  ) throws(QueryError) {
    let bytes = try condition?.selector() ?? []
    try self.init(parts, condition, bytes, isUnique, nil)
  }

  /// Creates a definition from the stored bytes of its condition; no bytes mean no condition.
  ///
  /// A condition that this release does not support is not an error: see ``objection``.
  package init(_ parts: [Part], condition bytes: [UInt8], isUnique: Bool) throws(QueryError) {
    guard !bytes.isEmpty else {
      try self.init(parts, nil, bytes, isUnique, nil)
      return
    }
    let root: FleeceElement
    do throws(FleeceError) { root = try FleeceBody(bytes).root } catch {
      throw QueryError(.invalidIndex, "the condition of the index is damaged: \(error)")
    }
    let condition: Predicate
    var objection: QueryError?
    do throws(QueryError) { condition = try MangoParser.stored(root) } catch {
      guard error.kind == .unsupported else { throw error }
      objection = error
      condition = .always(false)
    }
    try self.init(parts, condition, bytes, isUnique, objection)
  }

  private init(
    _ parts: [Part], _ condition: Predicate?, _ bytes: [UInt8], _ isUnique: Bool, _ objection: QueryError?
  ) throws(QueryError) {
    guard (1...IndexDefinition.partLimit).contains(parts.count) else {
      throw QueryError(
        .invalidIndex, "an index must have 1 to \(IndexDefinition.partLimit) fields, not \(parts.count)")
    }
    guard parts.count(where: { $0.isEach }) <= 1 else {
      throw QueryError(.invalidIndex, "an index can have entries for the elements of only one array")
    }
    guard Set(parts.map { Part($0.path, isEach: $0.isEach) }).count == parts.count else {
      throw QueryError(.invalidIndex, "a field occurs twice in the index")
    }
    guard bytes.count <= IndexDefinition.conditionLimit else {
      throw QueryError(.invalidIndex, "the condition of an index is too long: \(bytes.count) bytes")
    }
    self.parts = parts
    var condition = condition
    condition?.joinEqualities()
    self.condition = condition
    conditionBytes = bytes
    self.isUnique = isUnique
    self.objection = objection
    hasEach = parts.contains { $0.isEach }
    let isPlain = condition == nil && !hasEach && !parts.contains { $0.path.steps.first?.isReserved ?? true }
    plainParts = isPlain ? parts : []
  }

  /// The fields in their text form, separated by commas.
  package var text: String { parts.map(\.text).joined(separator: ", ") }
}

extension IndexDefinition: Equatable {
  package static func == (left: IndexDefinition, right: IndexDefinition) -> Bool {
    guard left.parts == right.parts, left.isUnique == right.isUnique else { return false }
    if left.conditionBytes == right.conditionBytes { return true }
    guard left.objection == nil, right.objection == nil, let first = left.condition,
      let second = right.condition
    else { return false }
    return first.storedForm == second.storedForm
  }
}
