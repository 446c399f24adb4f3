import LatewoodDocuments

/// A table whose keys are strings that are compared by their bytes, as conditions, SQL++ and unique
/// indexes do; or keys of another type, which are compared by `==`.
struct KeyTable<Key: Hashable, Value> {
  /// Returns the text of a key; nil if keys are not strings or optional strings.
  private let text: ((Key) -> String?)?
  private var texts: [TextKey?: (key: Key, value: Value)] = [:]
  private var others: [Key: Value] = [:]

  init() {
    let plain: (String) -> String? = { $0 }
    let optional: (String?) -> String? = { $0 }
    text = plain as? (Key) -> String? ?? optional as? (Key) -> String?
  }

  /// Calls a closure with the value of a key, which it may change. The value begins as `initial`.
  mutating func update<R>(
    _ key: Key, from initial: @autoclosure () -> Value, _ body: (inout Value) throws -> R
  ) rethrows -> R {
    guard let text else { return try body(&others[key, default: initial()]) }
    return try body(&texts[text(key).map { TextKey($0) }, default: (key, initial())].value)
  }

  /// Returns whether a key is new, and adds it.
  mutating func insert(_ key: Key) -> Bool where Value == Bool {
    update(key, from: true) { isNew in
      defer { isNew = false }
      return isNew
    }
  }

  /// Returns the values by their keys.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if two keys differ in their bytes, but are
  ///   equal to Swift, so that no dictionary can contain both.
  func dictionary() throws -> [Key: Value] {
    if text == nil { return others }
    var dictionary: [Key: Value] = [:]
    dictionary.reserveCapacity(texts.count)
    for (key, value) in texts.values where dictionary.updateValue(value, forKey: key) != nil {
      throw DatabaseError(
        .invalidParameter,
        "two groups have the key \"\(text?(key) ?? "")\" in different bytes, but a dictionary can contain only one of them",
        advice: "Group them in SQL++, whose rows keep both, or save such texts in one form of Unicode.")
    }
    return dictionary
  }
}

/// Returns the order of values of a type: strings by their bytes, others by `<`.
func queryOrder<Value: Comparable>(of type: Value.Type) -> (Value, Value) -> Bool {
  let byBytes: (String, String) -> Bool = { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  return byBytes as? (Value, Value) -> Bool ?? { $0 < $1 }
}
