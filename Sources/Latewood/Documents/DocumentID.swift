import LatewoodDocuments
import LatewoodFleece

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The rules of document ids: 1 to 8,000 bytes of UTF-8, no control characters, no underscore at
/// the start. Ids of design documents begin with `_design/`; they are stored and replicated, but
/// never run.
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

/// The member in which a pull stores the named attachments of a CouchDB document: the name of each,
/// and the description of the blob that has its bytes, with CouchDB's information about it. It is
/// the one reserved member that a document may have, so that the document can be edited and goes
/// back with its attachments.
enum AttachmentsMember {
  static let name = NameRules.attachmentsMember
  static let key = FleeceName(name)

  /// Throws `corruptRevisionData` unless a value is a dictionary of descriptions of blobs.
  static func check(_ value: DocumentValue) throws(DatabaseError) {
    if value.kind == .dictionary, value.members.allSatisfy({ $0.value.blob?.sum != nil }) { return }
    throw DatabaseError(
      .corruptRevisionData, "the member “\(name)” is reserved for blobs, and has another value",
      advice: "Save the bytes of each attachment as a blob, or give the member another name.")
  }
}

extension DocumentValue {
  /// Returns the content of a document with the attachments of the revision that it replaces,
  /// unless it has its own. An attachment that it repeats with the same digest keeps the stored
  /// description, which can contain more than a ``Blob``.
  func keepingAttachments(_ stored: DocumentValue) -> DocumentValue {
    guard stored.exists else { return self }
    var content = self
    if !content.contains(AttachmentsMember.name) {
      content[AttachmentsMember.name] = stored
      return content
    }
    for (name, value) in content[AttachmentsMember.name].members {
      let old = stored[name]
      if let digest = value.blob?.digest, old.blob?.digest == digest {
        content[AttachmentsMember.name][name] = old
      }
    }
    return content
  }
}
