import LatewoodQuery

/// The index that would help a request.
struct IndexSuggestion {
  /// The fields that are compared for equality; their order makes no difference.
  private var equal: [IndexDefinition.Part] = []
  /// The field that is compared otherwise, or the fields to sort by.
  private var rest: [IndexDefinition.Part] = []
  private var sorts = false

  /// Creates the suggestion for a request; nil if no index would help, or if an existing one could,
  /// in which case another plan costs less.
  ///
  /// - Parameter isArray: returns whether documents have an array in a field. No index can find an
  ///   array in which any element has one of several values.
  init?(
    _ choices: PlanningContext, _ order: [FindRequest.Order],
    isArray: (FieldPath) throws(DatabaseError) -> Bool
  ) throws(DatabaseError) {
    var compared: [IndexDefinition.Part] = []
    for case .field(let path, let test) in choices.conditions.parts where path != MatchedDocument.idField {
      if case .isAmong = test, try isArray(path) { continue }
      switch test {
      case .compare(.equal, _), .isAmong, .equalsAny:
        let part = IndexDefinition.Part(path)
        if !equal.contains(part) { equal.append(part) }
      case .compare, .begins, .hasType: compared.append(IndexDefinition.Part(path))
      case .anyElement, .containsAll: compared.append(IndexDefinition.Part(path, isEach: true))
      default: break
      }
    }
    let sorted = order.filter { field in !equal.contains { $0.path == field.path } }
    if let first = compared.first, sorted.first.map({ $0.path == first.path }) != true {
      rest = [first]
    } else {
      rest = sorted.map { IndexDefinition.Part($0.path, isDescending: $0.isDescending) }
      sorts = !sorted.isEmpty
    }
    if equal.isEmpty && rest.isEmpty || choices.parts.contains(where: isMet) { return nil }
  }

  /// The fields of the index, separated by commas.
  var text: String {
    (equal + rest).prefix(IndexDefinition.partLimit).map(\.text).joined(separator: ",")
  }

  /// Returns whether an index is as useful to the request as the suggested one.
  private func isMet(by part: CandidateIndex) -> Bool {
    // The direction matters only for an order, which the part records.
    let fields = part.index.definition.parts.map { IndexDefinition.Part($0.path, isEach: $0.isEach) }
    guard fields.count >= equal.count + rest.count, Set(fields.prefix(equal.count)) == Set(equal) else {
      return false
    }
    if sorts { return part.isReversed != nil }
    return rest.allSatisfy { fields[equal.count] == $0 }
  }
}
