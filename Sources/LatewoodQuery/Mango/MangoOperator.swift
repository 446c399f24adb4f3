import LatewoodBytes

/// The operators of selectors, by name.
enum MangoOperator: String, CaseIterable {
  case and = "$and"
  case or = "$or"
  case nor = "$nor"
  case not = "$not"
  case less = "$lt"
  case lessOrEqual = "$lte"
  case equal = "$eq"
  case notEqual = "$ne"
  case greaterOrEqual = "$gte"
  case greater = "$gt"
  case among = "$in"
  case notAmong = "$nin"
  case all = "$all"
  case elemMatch = "$elemMatch"
  case allMatch = "$allMatch"
  case keyMapMatch = "$keyMapMatch"
  case exists = "$exists"
  case type = "$type"
  case size = "$size"
  case mod = "$mod"
  case regex = "$regex"
  case beginsWith = "$beginsWith"
  case text = "$text"
  case location = "$where"
  case locationWithin = "$within"
  case near = "$near"
  case nearSphere = "$nearSphere"
  case geoWithin = "$geoWithin"
  case geoIntersects = "$geoIntersects"

  var comparison: Comparison {
    switch self {
    case .less: .less
    case .lessOrEqual: .lessOrEqual
    case .notEqual: .notEqual
    case .greaterOrEqual: .greaterOrEqual
    case .greater: .greater
    default: .equal
    }
  }

  /// Returns the error for an unknown operator, with the most similar one as a suggestion.
  static func unknown(_ name: String, at place: String) -> QueryError {
    let nearest = Suggestion.best(for: name, among: allCases.map(\.rawValue))
    return QueryError(
      .invalidSelector,
      nearest.map { "unknown operator \(name); did you mean \($0)?" } ?? "unknown operator \(name)",
      place: place.isEmpty ? name : "\(place).\(name)")
  }
}
