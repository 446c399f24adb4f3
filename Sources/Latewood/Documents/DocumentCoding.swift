import LatewoodDocuments
import LatewoodFleece

/// Converts between Swift types and the content of documents. A type can have the id of the
/// document and the id of its revision as members, under the names by which documents are
/// exchanged.
enum DocumentCoding {
  private static let id = "_id"
  private static let revision = "_rev"

  /// The content of a document, encoded from a value.
  struct Encoded {
    var content: DocumentValue
    var id: String?
    var revision: RevisionID?
  }

  static func encode(_ value: some Encodable) throws -> Encoded {
    let fleece = try FleeceEncoder(special: SpecialTypes()).encode(value)
    var encoded: Encoded
    var revision: String?
    do throws(FleeceError) {
      let root = try FleeceBody(written: fleece).root
      guard try root.kind == .dictionary else {
        throw FleeceError(.misuse, "\(type(of: value)) does not encode as a dictionary, as a document must")
      }
      encoded = Encoded(content: DocumentValue(stored: root))
      encoded.id = try encoded.take(id)
      revision = try encoded.take(Self.revision)
    } catch {
      throw DatabaseError(inValue: error)
    }
    encoded.revision = try revision.map { try RevisionID($0) }
    return encoded
  }

  /// Decodes the content of a document that has an id and a revision.
  ///
  /// - Parameter collection: the name of its collection, for errors; nil if it is unknown.
  static func decode<Value: Decodable>(
    _ type: Value.Type, from element: FleeceElement, id: String, revision: RevisionID?, in collection: String?
  ) throws -> Value {
    var decoder = FleeceDecoder(special: SpecialTypes())
    decoder.addition = { name in
      switch name {
      case Self.id: id
      case Self.revision: revision?.description
      default: nil
      }
    }
    do {
      return try decoder.decode(type, from: element)
    } catch let error as DecodingError {
      throw error.located(in: collection, id)
    }
  }
}

extension DocumentValue {
  /// Creates a value from an `Encodable` value, such as a struct inside a document:
  /// `document["address"] = try DocumentValue(encoding: address)`. See
  /// ``MutableDocument/init(id:encoding:)`` for how types are stored.
  ///
  /// - Throws: `EncodingError` with the path to the value that cannot be stored.
  public init(encoding value: some Encodable) throws {
    let fleece = try FleeceEncoder(special: SpecialTypes()).encode(value)
    do throws(FleeceError) {
      self.init(stored: try FleeceBody(written: fleece).root)
    } catch {
      throw DatabaseError(inValue: error)
    }
  }

  /// Returns the value as any `Decodable` type. A missing value decodes like null.
  ///
  /// - Throws: `DecodingError` with the path to the value that does not fit; ``DatabaseError``
  ///   `invalidParameter` if the value cannot be stored.
  public func decode<Value: Decodable>(as type: Value.Type) throws -> Value {
    try FleeceDecoder(special: SpecialTypes()).decode(type, from: element())
  }

  /// The value as an element of encoded bytes.
  func element() throws -> FleeceElement {
    if case .stored(let element) = content { return element }
    do throws(FleeceError) {
      return try FleeceBody(fleece()).root
    } catch {
      throw DatabaseError(inValue: error)
    }
  }
}

extension DocumentCoding.Encoded {
  /// Removes a member from the content and returns its text; nil if it is missing or null. Values
  /// of other types are an error.
  fileprivate mutating func take(_ name: String) throws(FleeceError) -> String? {
    let member: DocumentValue = content[name]
    guard member.exists else { return nil }
    content.removeValue(forKey: name)
    if member.isNull { return nil }
    guard let text = member.string else {
      throw FleeceError(.misuse, "the member \(name) of a document is text, and the value has \(member)")
    }
    return text
  }
}

extension MatchedDocument {
  /// - Parameter collection: the name of the document's collection, for errors.
  func decode<Value: Decodable>(_ type: Value.Type, in collection: String) throws -> Value {
    try DocumentCoding.decode(type, from: element(), id: id, revision: head.winner, in: collection)
  }
}
