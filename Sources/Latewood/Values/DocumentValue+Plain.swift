import LatewoodFleece

extension DocumentValue {
  /// Creates a value from plain Swift values, such as a `[String: Any]`, an `[Any]`, or the result
  /// of `toDictionary()`.
  ///
  /// - Parameter value: any ``DocumentValueConvertible`` value, a result of `JSONSerialization`, or
  ///   arrays and dictionaries of such values, at any depth. Nil becomes a missing value; in an
  ///   array, null.
  /// - Throws: ``DatabaseError`` `invalidParameter`, with the path to a value of another type.
  public init(plain value: Any?) throws {
    self.init(unchecked: value)
    if let refusal { throw DatabaseError(.invalidParameter, refusal) }
  }

  /// Returns the members of a dictionary as plain Swift values: see
  /// ``DocumentContent/toDictionary()``. Empty for all other values, and if a value cannot be
  /// stored or is damaged.
  public func toDictionary() -> [String: any Sendable] { PlainValues.members(of: self) }

  /// Returns the elements of an array as plain Swift values: `String`, `Bool`, `Int64`, `UInt64`,
  /// `Double`, `Data`, `[any Sendable]`, `[String: any Sendable]`, and ``null`` for null. Empty for
  /// all other values, and if a value cannot be stored or is damaged.
  public func toArray() -> [any Sendable] { PlainValues.value(of: self) as? [any Sendable] ?? [] }

  /// Creates a value of which parts may not be storable: writing it fails.
  init(unchecked value: Any?) { self = Self.make(value, FieldTrail()) }

  private var refusal: String? {
    if case .refused(let reason) = content { return reason }
    return nil
  }

  /// Creates a value from an object that `JSONSerialization` has created; nil for all other
  /// objects. They are recognized by the names of their classes, because not all of Foundation is
  /// imported here.
  private init?(object: Any, _ type: String) {
    if type == "NSNull" {
      self = .null
    } else if type == "__NSCFBoolean", let value = object as? Bool {
      self.init(value)
    } else if let value = object as? Int64 {
      self.init(value)
    } else if let value = object as? UInt64 {
      self.init(value)
    } else if let value = object as? Double {
      self.init(value)
    } else {
      return nil
    }
  }

  /// Converts a value with everything in it. If a part cannot be stored, the result is that part
  /// alone, so that the value is never stored incompletely.
  private static func make(_ value: Any?, _ trail: FieldTrail) -> DocumentValue {
    switch value {
    case nil: return .missing
    // Common types come first, because casts to a protocol are slow. Numbers are not among them: an
    // object that is a Boolean can be cast to a number, too.
    case let value as String: return value.documentValue
    case let value as DocumentValue: return value
    case let value as any DocumentValueConvertible: return value.documentValue
    default: break
    }
    guard trail.names.count < FleeceLimits.depth else {
      return DocumentValue(.refused("the values are nested more than \(FleeceLimits.depth) levels deep"))
    }
    switch value {
    case let members as [String: Any?]:
      var made: [String: DocumentValue] = [:]
      for (key, member) in members {
        let value = make(member, trail.adding(".\(key)"))
        if value.refusal != nil { return value }
        made[key] = value
      }
      return DocumentValue(made)
    case let elements as [Any?]:
      var made: [DocumentValue] = []
      for (index, element) in elements.enumerated() {
        let value = make(element, trail.adding("[\(index)]"))
        if value.refusal != nil { return value }
        made.append(value)
      }
      return DocumentValue(made)
    default: break
    }
    let type = value.map { "\(Swift.type(of: $0))" } ?? "nil"
    if let value, let object = DocumentValue(object: value, type) { return object }
    return DocumentValue(.refused("a value of type \(type)\(trail.text) cannot be stored in a document"))
  }
}

/// The path to a value in nested collections.
private struct FieldTrail {
  var names: [String] = []

  func adding(_ name: String) -> FieldTrail { FieldTrail(names: names + [name]) }

  var text: String {
    guard !names.isEmpty else { return "" }
    let path = names.joined()
    return " at \(path.hasPrefix(".") ? String(path.dropFirst()) : path)"
  }
}
