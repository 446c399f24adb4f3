import LatewoodFleece

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The reading interface of documents, both mutable and immutable.
///
/// ```swift
/// let name = document["name"].string ?? "nobody"     // by path, nil if it is missing
/// let age = document.int("age")                      // one member, 0 if it is missing
/// for (key, value) in document { print(key, value) } // in the order of the keys
/// ```
public protocol DocumentContent: Sendable, Identifiable, Sequence, CustomStringConvertible
where ID == String, Element == (key: String, value: DocumentValue) {
  /// The name of the document in its collection.
  var id: String { get }
  /// All members, as one dictionary.
  var body: DocumentValue { get }
}

extension DocumentContent {
  /// The number of members.
  public var count: Int { body.count }

  /// Whether there are no members.
  public var isEmpty: Bool { count == 0 }

  /// The keys of the members, in the order of their bytes.
  public var keys: [String] { body.keys }

  /// Returns whether there is a member with a key, even if it is null.
  public func contains(_ key: String) -> Bool { body.contains(key) }

  /// The members in the order of their keys' bytes.
  public func makeIterator() -> IndexingIterator<[(key: String, value: DocumentValue)]> {
    body.members.makeIterator()
  }

  /// Returns the content as canonical JSON: equal documents have the same text. Binary data becomes
  /// text in base64.
  ///
  /// - Parameter isIndented: whether to write each member and element on a separate, indented line.
  /// - Throws: ``DatabaseError`` `invalidParameter` if a value cannot be stored;
  ///   `corruptRevisionData` if one is damaged.
  public func toJSON(isIndented: Bool = false) throws -> String {
    try body.toJSON(isIndented: isIndented)
  }

  /// Returns the content as plain Swift values: `String`, `Bool`, `Int64`, `UInt64`, `Double`,
  /// `Data`, `[any Sendable]`, `[String: any Sendable]`, and `DocumentValue.null` for null. Empty
  /// if a value cannot be stored or is damaged, or if a dictionary has two keys that differ only in
  /// Unicode normalization, which Swift treats as equal; `body` distinguishes them.
  public func toDictionary() -> [String: any Sendable] { PlainValues.members(of: body) }

  /// Returns the content as any `Decodable` type.
  ///
  /// A `Date` is read from ISO 8601 text, `Data` from binary data or base64 text, a `URL` and a
  /// `UUID` from text, a `Decimal` from a number or text, a ``Blob`` from its description. Members
  /// of the type with the coding keys `_id` and `_rev` receive the ids of the document and of its
  /// revision.
  ///
  /// - Throws: `DecodingError` with the path to the value that does not fit; ``DatabaseError``
  ///   `invalidParameter` if a value cannot be stored.
  public func decode<T: Decodable>(as type: T.Type) throws -> T {
    try decode(as: type, in: nil)
  }

  /// - Parameter collection: the name of the document's collection, for errors.
  func decode<T: Decodable>(as type: T.Type, in collection: String?) throws -> T {
    let revision = (self as? Document)?.revision ?? (self as? MutableDocument)?.revision
    return try DocumentCoding.decode(
      type, from: body.element(), id: id, revision: revision, in: collection)
  }

  /// The id and the content as JSON.
  public var description: String { "\(id) \(body)" }
}

/// Members as Swift types; a default if they are missing or of another type.
extension DocumentContent {
  /// Returns a member as a Boolean.
  public func bool(_ key: String, default value: Bool = false) -> Bool { body[key].bool ?? value }
  /// Returns a member as an integer.
  public func int(_ key: String, default value: Int = 0) -> Int { body[key].int ?? value }
  /// Returns a member as an integer of 64 bits.
  public func int64(_ key: String, default value: Int64 = 0) -> Int64 { body[key].int64 ?? value }
  /// Returns a member as an integer of 64 bits without sign.
  public func uint64(_ key: String, default value: UInt64 = 0) -> UInt64 { body[key].uint64 ?? value }
  /// Returns a member as the nearest `Float`.
  public func float(_ key: String, default value: Float = 0) -> Float { body[key].float ?? value }
  /// Returns a member as the nearest `Double`.
  public func double(_ key: String, default value: Double = 0) -> Double { body[key].double ?? value }
  /// Returns a member as a string; nil if it is missing or of another type.
  public func string(_ key: String) -> String? { body[key].string }
  /// Returns a member as a string.
  public func string(_ key: String, default value: String) -> String { body[key].string ?? value }
  /// Returns a member as a point in time; nil if it is missing or of another type.
  public func date(_ key: String) -> Date? { body[key].date }
  /// Returns a member as binary data; nil if it is missing or of another type.
  public func data(_ key: String) -> Data? { body[key].data }
  /// Returns a member as a blob; nil if it is missing or of another type.
  public func blob(_ key: String) -> Blob? { body[key].blob }
  /// Returns a member as an array; nil if it is missing or of another type.
  public func array(_ key: String) -> [DocumentValue]? { body[key].array }
  /// Returns a member as a dictionary; nil if it is missing or of another type.
  public func dictionary(_ key: String) -> [String: DocumentValue]? { body[key].dictionary }
}
