import LatewoodDocuments
import LatewoodFleece

/// A document to be changed and saved: new, or a copy of one that was read.
///
/// ```swift
/// var document = try MutableDocument(id: "anna")
/// document["name"] = "Anna"
/// document["address"] = ["city": "Porto", "since": 2019]
/// document["address"]["city"].string = city
/// ```
///
/// It is a value: a copy of it is another document, and nothing is stored before it is saved.
public struct MutableDocument: DocumentContent {
  public let id: String
  /// Of the revision that this is a copy of; nil for a new document. Saving fails if it is no
  /// longer the current one.
  public var revisionID: String? { revision?.description }
  /// Of the revision that this is a copy of; 0 for a new document.
  public let sequence: UInt64
  let revision: RevisionID?
  private var content: DocumentValue

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

  /// A new document without members, with an id that no other has.
  public init() { self.init(checkedID: DocumentID.random(), content: [:]) }

  /// A new document.
  ///
  /// - Parameters:
  ///   - id: 1 to 240 bytes of UTF-8, no underscore at the start, no control characters; else
  ///     `badDocumentID` is thrown. One is made up if it is left out.
  ///   - content: the members.
  public init(id: String? = nil, _ content: [String: DocumentValue] = [:]) throws(DatabaseError) {
    if let id { try DocumentID.check(id) }
    self.init(checkedID: id ?? DocumentID.random(), content: DocumentValue(content))
  }

  /// A new document with the members of a JSON object. Throws `invalidJSON`, with line and column,
  /// and `badDocumentID`.
  public init(id: String? = nil, json: String) throws(DatabaseError) {
    try self.init(id: id)
    try setJSON(json)
  }

  /// A new document with what an `Encodable` encodes, which must be a dictionary: a struct, a
  /// class, an enum with values.
  ///
  /// A `Date` is stored as ISO 8601 text, `Data` as binary data, a `URL` as text, a `Blob` as its
  /// description. Throws `EncodingError` with the path to what cannot be stored, and
  /// `DatabaseError`.
  public init(id: String? = nil, encoding value: some Encodable) throws {
    try self.init(id: id)
    try setContent(encoding: value)
  }

  public var body: DocumentValue { content }

  /// The value of a member; missing if there is none.
  ///
  /// Setting replaces it, and makes the dictionaries on the way of a path: `document["a"]["b"] =
  /// 1`. A literal `nil` is null, which is a value; `removeValue(forKey:)` removes.
  public subscript(key: String) -> DocumentValue {
    get { content[key] }
    set { content[key] = newValue }
    _modify { yield &content[key] }
  }

  public mutating func removeValue(forKey key: String) { content.removeValue(forKey: key) }

  public mutating func removeAll() { content = [:] }

  /// Puts the members of a JSON object in the place of all that are there. Throws `invalidJSON`,
  /// with line and column, and changes nothing then.
  public mutating func setJSON(_ json: String) throws(DatabaseError) {
    let parsed = try DocumentValue(json: json)
    guard parsed.kind == .dictionary else {
      throw DatabaseError(.invalidJSON, "the text of a document is no JSON object")
    }
    content = parsed
  }

  /// Puts what an `Encodable` encodes in the place of all members; see `init(id:encoding:)`.
  public mutating func setContent(encoding value: some Encodable) throws {
    let fleece = try FleeceEncoder(special: SpecialTypes()).encode(value)
    do throws(FleeceError) {
      let root = try FleeceBody(written: fleece).root
      guard try root.kind == .dictionary else {
        throw FleeceError(.misuse, "\(type(of: value)) does not encode as a dictionary, as a document must")
      }
      content = DocumentValue(stored: root)
    } catch {
      throw DatabaseError(inValue: error)
    }
  }

  /// Puts members in the place of all that are there.
  public mutating func setContent(_ members: [String: DocumentValue]) { content = DocumentValue(members) }

  /// What is stored of the content: Fleece, the same bytes for equal content.
  ///
  /// Throws `corruptRevisionData` if a member has a reserved name, and `invalidParameter` if a
  /// value cannot be stored: a number that is infinite, a date outside of the years 0 to 9999, or
  /// nesting that is too deep.
  ///
  /// - Parameter isStrict: whether every member whose name starts with an underscore is refused.
  package func encodedBody(isStrict: Bool = false) throws(DatabaseError) -> [UInt8] {
    for key in content.keys(beginningWith: UInt8(ascii: "_")) {
      try ReservedKeys.check(key, isStrict: isStrict)
    }
    do throws(FleeceError) {
      return try content.fleece()
    } catch {
      throw DatabaseError(inValue: error)
    }
  }

  /// Whether the content is what `other` has.
  public func hasSameContent(as other: some DocumentContent) -> Bool { content == other.body }
}

extension MutableDocument {
  /// The same content, as an edit of another revision; nil: of none, as a new document.
  func rebased(on document: Document?) -> MutableDocument {
    MutableDocument(
      checkedID: id, revision: document?.revision, sequence: document?.sequence ?? 0, content: body)
  }
}
