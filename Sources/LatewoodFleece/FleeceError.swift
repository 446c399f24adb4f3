/// The one error of this module: what is wrong, and where in the bytes or in the text.
package struct FleeceError: Error, Sendable, Equatable {
  package enum Kind: String, Sendable, CaseIterable {
    /// Fleece bytes that break a rule of the format. `offset` says where.
    case damaged
    /// A text that is not JSON. `offset`, `line` and `column` say where.
    case invalidJSON
    /// Arrays and dictionaries inside each other, more than `FleeceLimits.depth` levels.
    case tooDeep
    /// More than the format or this module can hold, or bytes that stand for out of proportion more
    /// than they are.
    case tooLarge
    /// A number that has no form in JSON: infinite, or not a number.
    case notFinite
    /// Calls to a writer that do not make one whole value.
    case misuse
    /// The receiver of a text did not take it.
    case output
  }

  package var kind: Kind
  /// In the bytes or the text, from zero; nil where the error is not about a place.
  package var offset: Int?
  /// From 1; in a text.
  package var line: Int?
  /// In Unicode scalars, from 1; in a text.
  package var column: Int?
  /// One sentence: what is wrong.
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
