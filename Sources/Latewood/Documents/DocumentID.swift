import LatewoodDocuments

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The rules of document ids: 1 to 240 bytes of UTF-8, no control characters, no underscore at the
/// start. Ids of design documents begin with `_design/`; they are stored and replicated, but never
/// run.
///
/// Ids are compared as bytes: the composed and the decomposed form of the same letter are two
/// different ids, although Swift treats the strings as equal.
package enum DocumentID {
  /// Returns an id that no other document has.
  package static func random() -> String { UUID().uuidString.lowercased() }

  package static func check(_ id: String) throws(DatabaseError) {
    guard let objection = NameRules.objection(toID: id) else { return }
    throw DatabaseError(.badDocumentID, "the document id “\(id.prefix(80))” \(objection)")
  }
}

/// The rules of collection names: 1 to 251 bytes of `A-Z a-z 0-9 _ - %`, not starting with `_` or
/// `%`. The name of a scope, to which the same rules apply, and a period can precede them. The name
/// `_default`, with which every database is created, is also valid.
package enum CollectionName {
  package static let standard = CollectionHandle.defaultName

  package static func check(_ name: String) throws(DatabaseError) {
    guard let objection = NameRules.objection(toCollection: name) else { return }
    throw DatabaseError(
      .invalidParameter, "the collection name “\(name.prefix(80))” \(objection)",
      advice:
        "Use 1 to \(NameRules.longestCollection) of the characters A-Z, a-z, 0-9, _, - and %, and do not start with _ or %."
    )
  }
}

/// The members that no document can have at its top level, because their names have a fixed meaning
/// where documents are exchanged.
package enum ReservedKeys {
  package static let all = NameRules.reservedMembers

  /// - Parameter isStrict: whether every key that starts with an underscore is refused.
  package static func check(_ key: String, isStrict: Bool) throws(DatabaseError) {
    guard key.utf8.first == UInt8(ascii: "_"), isStrict || all.contains(key) else { return }
    throw DatabaseError(
      .corruptRevisionData,
      isStrict
        ? "the member “\(key)” starts with an underscore" : "the member “\(key)” is reserved",
      advice: "Give the member another name, one without the underscore at its start.")
  }
}
