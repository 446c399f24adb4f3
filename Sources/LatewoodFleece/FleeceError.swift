/// The only error type of this module. It describes the problem and its location in the bytes or in
/// the text.
package struct FleeceError: Error, Sendable, Equatable {
  package enum Kind: String, Sendable, CaseIterable {
    /// Fleece bytes violate the format, at `offset`.
    case damaged
    /// A text is not JSON, at `offset`, `line` and `column`.
    case invalidJSON
    /// Arrays and dictionaries are nested more than `FleeceLimits.depth` levels deep.
    case tooDeep
    /// The value exceeds a limit of the format or this module, or the bytes expand to
    /// disproportionately many values.
    case tooLarge
    /// A number has no form in JSON: infinite, or not a number.
    case notFinite
    /// The calls to a writer do not make exactly one complete value.
    case misuse
    /// The caller gave up while the value was examined.
    case interrupted
  }

  package var kind: Kind
  /// The offset in the bytes or the text, from zero; nil if the error is not about a position.
  package var offset: Int?
  /// The line in a text, from 1.
  package var line: Int?
  /// The column in a text, in Unicode scalars, from 1.
  package var column: Int?
  /// The description of the problem, in one sentence.
  package var reason: String

  package init(
    _ kind: Kind, _ reason: String, offset: Int? = nil, line: Int? = nil, column: Int? = nil
  ) {
    self.kind = kind
    self.reason = reason
    self.offset = offset
    self.line = line
    self.column = column
  }

  @inline(never) static func damaged(at offset: Int, _ reason: String) -> FleeceError {
    FleeceError(.damaged, reason, offset: offset)
  }
}

extension FleeceError: CustomStringConvertible {
  package var description: String {
    if let line, let column { return "\(reason) (line \(line), column \(column))" }
    if let offset { return "\(reason) (at byte \(offset))" }
    return reason
  }
}
