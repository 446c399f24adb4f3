import LatewoodFleece
import LatewoodQuery

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Any value inside a document: null, a Boolean, a number, a string, binary data, an array or a
/// dictionary. If nothing exists at a path, its value is a missing value.
///
/// ```swift
/// let city = document["address"]["city"].string ?? "unknown"
/// var copy = document.toMutable()
/// copy["address"]["city"] = "Lisboa"
/// copy["tags"] = ["harbour", "hills"]
/// copy["name"] = name                                       // a variable of any storable type
/// copy["nickname"] = nil                                    // removes; `.null` stores null
/// for tag in copy["tags"] { print(tag) }
/// ```
///
/// Reading never fails: a value that is missing or of another type is nil, so one `??` at the end
/// of a path gives the default. Values of a stored document are read in place on demand.
public struct DocumentValue: Sendable {
  enum Content: Sendable {
    case missing
    case null
    case boolean(Bool)
    case integer(Int64)
    /// An integer above `Int64.max`.
    case unsigned(UInt64)
    case double(Double)
    case string(String)
    case data([UInt8])
    case array(ElementStorage)
    case dictionary(MemberStorage)
    /// A date outside the years that can be stored, in seconds since 2001. It can be read, but not
    /// written. It is not kept as a `Date`, whose description traps on some systems for such
    /// values.
    case unstorable(Double)
    /// A value of a type that documents cannot contain, with the reason. It reads as null and
    /// cannot be written.
    case refused(String)
    /// A value of any type inside the bytes of a document.
    case stored(FleeceElement)
    /// The content of a document whose root is not a dictionary. It reads as having no members and
    /// cannot be written.
    case damaged(FleeceError)
  }

  var content: Content

  init(_ content: Content) { self.content = content }
  init(stored element: FleeceElement?) { content = element.map(Content.stored) ?? .missing }

  /// The value of a path at which nothing exists.
  static let missing = DocumentValue(.missing)
  /// JSON's null, which is a value: a member that is null is not missing.
  public static let null = DocumentValue(.null)

  /// The kinds of values.
  public enum Kind: Sendable, Equatable {
    /// JSON's null.
    case null
    /// True or false.
    case boolean
    /// Any number.
    case number
    /// A string, which may be a date.
    case string
    /// Binary data.
    case data
    /// An array.
    case array
    /// A dictionary, which may describe a blob.
    case dictionary
  }

  /// The kind of the value; nil if it is missing.
  public var kind: Kind? {
    switch content {
    case .missing: nil
    case .null, .refused: .null
    case .boolean: .boolean
    case .integer, .unsigned, .double: .number
    case .string, .unstorable: .string
    case .data: .data
    case .array: .array
    case .dictionary, .damaged: .dictionary
    case .stored(let element): Self.kind(of: element)
    }
  }

  private static func kind(of element: FleeceElement) -> Kind? {
    switch try? element.kind {
    case nil: nil
    case .null, .undefined: .null
    case .boolean: .boolean
    case .integer, .double: .number
    case .string: .string
    case .data: .data
    case .array: .array
    case .dictionary: .dictionary
    }
  }

  /// Whether there is a value; true for null.
  public var exists: Bool { kind != nil }
  /// Whether the value is null. A missing value is not.
  public var isNull: Bool { kind == .null }

  /// The number of elements of an array or members of a dictionary; 0 for all other values.
  public var count: Int {
    switch content {
    case .array(let storage): storage.elements.count
    case .dictionary(let storage): storage.members.count
    case .stored(let element): (try? element.count()) ?? 0
    default: 0
    }
  }

  /// Whether there are no elements or members; true for all values that are not collections.
  public var isEmpty: Bool { count == 0 }

  /// The keys of a dictionary, in the order of their bytes. Empty for all other values.
  public var keys: [String] { members.map(\.key) }

  /// Returns the keys of a dictionary that begin with a byte; none for damaged content, which fails
  /// when it is written.
  func keys(beginningWith first: UInt8) -> [String] {
    if case .stored(let element) = content { return (try? element.keys(beginningWith: first)) ?? [] }
    guard case .dictionary(let storage) = content else { return [] }
    let stored = (try? storage.stored?.keys(beginningWith: first)) ?? []
    guard storage.changes.keys.contains(where: { $0.text.utf8.first == first }) else { return stored }
    var keys = Set(stored.map(KeyText.init))
    for (key, value) in storage.changes where key.text.utf8.first == first {
      if value.exists || storage.stored == nil { keys.insert(key) } else { keys.remove(key) }
    }
    return keys.map(\.text).sorted()
  }

  /// The members of a dictionary, in the order of their keys' bytes. Empty for all other values.
  public var members: [(key: String, value: DocumentValue)] {
    switch content {
    case .dictionary(let storage):
      storage.members.sorted { $0.key < $1.key }.map { ($0.key.text, $0.value) }
    case .stored(let element):
      ((try? element.members()) ?? []).map { ($0.key, DocumentValue(stored: $0.value)) }
    default: []
    }
  }

  /// Returns whether this is a dictionary with a key, or an array with a string.
  public func contains(_ text: String) -> Bool {
    kind == .array ? contains { $0 == DocumentValue(text) } : self[text].exists
  }

  /// Returns the value at a path, missing if there is none.
  ///
  /// - Parameter path: member names and indexes, `address.phones[0]`, with a backslash before a dot
  ///   or a bracket that belongs to a name. If the text is not a valid path, the result is missing.
  public func value(at path: String) -> DocumentValue {
    guard let path = try? FieldPath(parsing: path) else { return .missing }
    return path.steps.reduce(self) { value, step in
      if let index = step.index, value.kind == .array { value[index] } else { value[step.name] }
    }
  }
}

/// The elements of an array, in order; none for all other values. Use `members` for a dictionary.
extension DocumentValue: Sequence {
  /// A position among the elements of an array.
  public struct Iterator: IteratorProtocol, Sendable {
    private let array: DocumentValue
    private let count: Int
    private var index = 0

    init(_ value: DocumentValue) {
      array = value
      count = value.underestimatedCount
    }

    /// Returns the next element; nil after the last.
    public mutating func next() -> DocumentValue? {
      guard index < count else { return nil }
      defer { index += 1 }
      // A damaged element reads as null, so that the count stays correct.
      return array[index].orNull
    }
  }

  /// Starts at the first element of an array.
  public func makeIterator() -> Iterator { Iterator(self) }
  /// The number of elements of an array; 0 for all other values.
  public var underestimatedCount: Int { kind == .array ? count : 0 }
}

extension DocumentValue: CustomStringConvertible {
  /// The value as JSON; `missing` if there is no value, `no JSON` if it is damaged or cannot be
  /// stored.
  public var description: String {
    guard exists else { return "missing" }
    return (try? toJSON()) ?? "no JSON"
  }
}
