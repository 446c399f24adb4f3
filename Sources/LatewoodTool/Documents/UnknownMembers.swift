import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery

/// Names the members in a condition that no document has, because they may be misspelt.
enum UnknownMembers {
  /// The number of members of a condition that are looked for in the collection.
  private static let limit = 8

  static func note(_ predicate: Predicate, in reads: DocumentReads, on console: Console) throws {
    guard !console.printsJSON else { return }
    for name in predicate.memberNames.prefix(limit) where !name.hasPrefix("_") {
      var sample = FindRequest(.field(FieldPath(name), .exists))
      sample.limit = 1
      var isKnown = false
      _ = try reads.find(sample) { _ in
        isKnown = true
        return false
      }
      if !isKnown { try console.noteEmpty("No document has the member \(name).") }
    }
  }
}
