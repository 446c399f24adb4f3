/// Negation in selectors: it moves down to the tests of fields, where it requires an existing value
/// that fails the test. A missing field matches neither a test nor its negation.
extension Predicate {
  var negated: Predicate {
    switch self {
    case .always(let answer): .always(!answer)
    case .all(let parts): .any(parts.map(\.negated))
    case .any(let parts): .all(parts.map(\.negated))
    case .not(let part): part
    case .field(let path, let test): .field(path, test.negated)
    // A selector never contains a comparison of fields.
    case .fields, .text: exactNegation
    }
  }

  private var exactNegation: Predicate { .not(self) }
}

extension FieldTest {
  var negated: FieldTest {
    switch self {
    case .compare(let comparison, let constant): .compare(comparison.opposite, constant)
    case .exists: .isMissing
    case .isMissing: .exists
    case .fails(let test): test
    default: .fails(self)
    }
  }
}
