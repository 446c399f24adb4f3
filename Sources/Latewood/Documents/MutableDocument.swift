import LatewoodDocuments
import LatewoodFleece

/// A document that can be changed and saved: a new document, or a copy of one that was read.
///
/// ```swift
/// var document = try MutableDocument(id: "anna")
/// document["name"] = "Anna"
/// document["address"] = ["city": "Porto", "since": 2019]
/// document["address"]["city"] = city                       // a variable
/// document["nickname"] = nil                               // removes it
/// ```
///
/// This is a value type: a copy is a separate document, and nothing is stored before it is saved.
public struct MutableDocument: DocumentContent {
  /// The id of the document in its collection.
  public let id: String
  /// The id of the revision that this is a copy of; nil for a new document. Saving fails if that
  /// revision is no longer current.
  public var revisionID: String? { revision?.description }
  /// The sequence of the revision that this is a copy of; 0 for a new document.
  public let sequence: UInt64
  /// Whether saving deletes the document, by a revision with these members. This lets a change in
  /// `update` or a conflict handler delete the document:
  ///
  /// ```swift
  /// try carts.update("anna") { cart in
  ///   cart["items"].removeElement(at: 0)
  ///   if cart["items"].count == 0 { cart.isDeleted = true }
  ///   return true
  /// }
  /// ```
  ///
  /// Default: false, also for a copy of a deleted document. Saving throws `notFound` if there is no
  /// document to delete.
  public var isDeleted = false
  let revision: RevisionID?
  private var content: DocumentValue
  /// The reason why the document cannot be saved; nil if it can.
  private var refusal: String?

  init(checkedID: String, revision: RevisionID? = nil, sequence: UInt64 = 0, content: DocumentValue) {
    id = checkedID
    self.revision = revision
    self.sequence = sequence
    self.content = content
  }

  init(copying document: Document) {
    self.init(
      checkedID: document.id, revision: document.revision, sequence: document.sequence,
      content: document.body)
  }

  /// Creates a document without members, with a random id.
  public init() { self.init(checkedID: DocumentID.random(), content: [:]) }

  /// Creates a document.
  ///
  /// - Parameters:
  ///   - id: 1 to 8,000 bytes of UTF-8, no control characters, no underscore at the start except in
  ///     `_design/` and a name. Default: a random id.
  ///   - content: the members.
  /// - Throws: ``DatabaseError`` `badDocumentID`.
  public init(id: String? = nil, _ content: [String: DocumentValue] = [:]) throws {
    if let id { try DocumentID.check(id) }
    self.init(checkedID: id ?? DocumentID.random(), content: DocumentValue(content))
  }

  /// Creates a document with the members of a JSON object.
  ///
  /// - Throws: ``DatabaseError`` `invalidJSON` with line and column; `badDocumentID`.
  public init(id: String? = nil, json: String) throws {
    if let id { try DocumentID.check(id) }
    self.init(checkedID: id ?? DocumentID.random(), content: try Self.content(ofJSON: json))
  }

  /// Creates a document from an `Encodable` value, which must encode as a dictionary, such as a
  /// struct, a class or an enum with associated values.
  ///
  /// A `Date` is stored as ISO 8601 text, `Data` as binary data, a `URL` and a `UUID` as text, a
  /// `Decimal` as a number if that is exact and otherwise as text, a ``Blob`` as its description.
  ///
  /// Members with the coding keys `_id` and `_rev`, which must be strings, are not part of the
  /// content. They are the id of the document and the id of the revision that it edits.
  ///
  /// - Parameters:
  ///   - id: the id of the document. Default: the member `_id` of the value, or a random id.
  ///   - value: the content.
  /// - Throws: `EncodingError` with the path to the value that cannot be stored; ``DatabaseError``
  ///   `invalidParameter` if the value has a member `_id` that differs from `id`, `badRevisionID`,
  ///   `badDocumentID`.
  public init(id: String? = nil, encoding value: some Encodable) throws {
    let encoded = try DocumentCoding.encode(value)
    if let id, let own = encoded.id, KeyText(id) != KeyText(own) { throw Self.otherID(own, id) }
    let given = id ?? encoded.id
    if let given { try DocumentID.check(given) }
    self.init(
      checkedID: given ?? DocumentID.random(), revision: encoded.revision, content: encoded.content)
  }

  private static func otherID(_ own: String, _ id: String) -> DatabaseError {
    DatabaseError(
      .invalidParameter, "the member _id of the value is “\(own)”, and the document’s id is “\(id)”",
      advice: "Save the value in the document with that id.")
  }

  /// All members, as one dictionary.
  public var body: DocumentValue { content }

  /// The value of a member; missing if there is none.
  ///
  /// Setting replaces the member, and creates the missing dictionaries on a path:
  /// `document["a"]["b"] = 1`. Setting nil removes the member; ``DocumentValue/null`` stores null.
  public subscript(key: String) -> DocumentValue {
    get { content[key] }
    set { content[key] = newValue }
    _modify { yield &content[key] }
  }

  /// Changes the members in place.
  mutating func changeContent(_ change: (inout DocumentValue) throws -> Void) rethrows {
    try change(&content)
  }

  /// Makes saving throw, after a change that could not be made.
  mutating func refuseToSave(because error: any Error) {
    refusal = refusal ?? (error as? DatabaseError)?.message ?? "\(error)"
  }

  /// Removes a member, if there is one.
  public mutating func removeValue(forKey key: String) { content.removeValue(forKey: key) }

  /// Removes all members.
  public mutating func removeAll() { content = [:] }

  /// Replaces all members with the members of a JSON object.
  ///
  /// - Throws: ``DatabaseError`` `invalidJSON` with line and column; the document is then
  ///   unchanged.
  public mutating func setJSON(_ json: String) throws {
    content = try Self.content(ofJSON: json)
  }

  private static func content(ofJSON json: String) throws -> DocumentValue {
    let parsed = try DocumentValue(json: json)
    guard parsed.kind == .dictionary else {
      throw DatabaseError(.invalidJSON, "the text of a document is not a JSON object")
    }
    return parsed
  }

  /// Replaces all members with the members of an `Encodable` value; see `init(id:encoding:)`. A
  /// member `_rev` is ignored.
  ///
  /// - Throws: `EncodingError` with the path to the value that cannot be stored; ``DatabaseError``
  ///   `invalidParameter` if the value has a member `_id` that is not the id of this document,
  ///   `badRevisionID`. The document is then unchanged.
  public mutating func setContent(encoding value: some Encodable) throws {
    let encoded = try DocumentCoding.encode(value)
    if let own = encoded.id, KeyText(id) != KeyText(own) { throw Self.otherID(own, id) }
    content = encoded.content
  }

  /// Replaces all members.
  public mutating func setContent(_ members: [String: DocumentValue]) { content = DocumentValue(members) }

  /// Returns the stored form of the content: Fleece, with the same bytes for equal content.
  ///
  /// Throws `corruptRevisionData` if a member has a reserved name, and `invalidParameter` if a
  /// value cannot be stored: a number that is not finite, a date outside the years 0 to 9999, or
  /// values nested too deep. Attachments that a pull has stored are kept: see `AttachmentsMember`.
  ///
  /// - Parameter isStrict: whether every member whose name starts with an underscore is refused.
  package func encodedBody(isStrict: Bool = false) throws(DatabaseError) -> [UInt8] {
    if let refusal { throw DatabaseError(.invalidParameter, refusal) }
    var lacksAttachments = false
    for key in content.keys(beginningWith: UInt8(ascii: "_")) {
      if key == AttachmentsMember.name {
        try AttachmentsMember.check(content[key])
        lacksAttachments = content[key].isEmpty
      } else {
        try ReservedKeys.check(key, isStrict: isStrict)
      }
    }
    do throws(FleeceError) {
      if lacksAttachments {
        var rest = content
        rest.removeValue(forKey: AttachmentsMember.name)
        return try rest.bodyBytes()
      }
      return try content.bodyBytes()
    } catch {
      throw DatabaseError(inValue: error)
    }
  }

  /// Returns whether the content equals the content of another document.
  public func hasSameContent(as other: some DocumentContent) -> Bool { content == other.body }
}

extension MutableDocument {
  /// Returns the same content as an edit of another revision, or as a new document if that is nil.
  func rebased(on document: Document?) -> MutableDocument {
    var copy = MutableDocument(
      checkedID: id, revision: document?.revision, sequence: document?.sequence ?? 0, content: body)
    copy.isDeleted = isDeleted
    copy.refusal = refusal
    return copy
  }
}
