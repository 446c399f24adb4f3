import LatewoodDocuments

/// A value together with the revision of the document that it was read from or saved as.
///
/// ```swift
/// guard var anna = try await people.document("anna") else { return }   // Stored<Person>
/// anna.city = "Porto"                                          // members are those of the value
/// anna = try await people.save(anna)                           // a conflict if it is stale
/// ```
///
/// ``TypedCollection`` returns and saves values in this form. Because it includes the revision,
/// saving it does not overwrite changes that someone else has saved in the meantime.
///
/// If a member of the value has the same name as a member of this type, use ``value`` to access it.
@dynamicMemberLookup
public struct Stored<Value: Sendable>: Sendable {
  /// The value itself.
  public var value: Value
  /// The id of the document.
  public let documentID: String
  /// The sequence of the document's last change when this was read or saved.
  public let sequence: UInt64
  /// Whether other revisions of the document were waiting to be merged when this was read or saved.
  public let hasConflicts: Bool
  let revision: RevisionID
  /// The attachments from CouchDB, which a save keeps; usually missing.
  let attachments: DocumentValue

  init(_ value: Value, _ document: Document, _ revision: RevisionID) {
    self.value = value
    self.revision = revision
    attachments = document.member(AttachmentsMember.key)
    documentID = document.id
    sequence = document.sequence
    hasConflicts = document.hasConflicts
  }

  /// The id of the revision, `generation-digest`.
  public var revisionID: String { revision.description }

  /// A member of the value.
  public subscript<Member>(dynamicMember member: KeyPath<Value, Member>) -> Member { value[keyPath: member] }

  /// A member of the value.
  public subscript<Member>(dynamicMember member: WritableKeyPath<Value, Member>) -> Member {
    get { value[keyPath: member] }
    set { value[keyPath: member] = newValue }
    _modify { yield &value[keyPath: member] }
  }
}

extension Stored: Identifiable where Value: Identifiable {
  /// The id of the value.
  public var id: Value.ID { value.id }
}

/// Equal values of the same revision of the same document.
extension Stored: Equatable where Value: Equatable {
  /// Whether both are equal values of the same revision of the same document.
  public static func == (a: Stored, b: Stored) -> Bool {
    KeyText(a.documentID) == KeyText(b.documentID) && a.revision == b.revision && a.value == b.value
  }
}

extension Stored: Hashable where Value: Hashable {
  /// Hashes the value and its revision.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(value)
    hasher.combine(revision)
  }
}
