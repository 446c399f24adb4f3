import LatewoodFleece

/// The values of a document in the fields of an index, as bytes that sort.
package struct IndexKey: Sendable, Equatable {
  /// The greatest length of a key in bytes; longer keys are cut.
  package static let lengthLimit = 1024

  package var bytes: [UInt8]
  /// Whether the key was cut. Equal cut keys may stand for different values.
  package var isCut: Bool
  /// Whether a field is missing or null: such a key never makes a document a duplicate.
  package var lacksValue: Bool

  package init(bytes: [UInt8], isCut: Bool, lacksValue: Bool) {
    self.bytes = bytes
    self.isCut = isCut
    self.lacksValue = lacksValue
  }
}

extension IndexDefinition {
  /// Returns the keys of a document, in order, each once; none if the index does not contain it.
  ///
  /// - Parameter limit: the greatest number of bytes in a key.
  /// - Throws: `damaged` if the document is damaged.
  package func keys(
    of source: some FieldSource, limit: Int = IndexKey.lengthLimit
  ) throws(FleeceError) -> [IndexKey] {
    if let condition, try !condition.matches(source) { return [] }
    guard let each = parts.first(where: { $0.isEach }) else {
      return [try key(of: source, element: nil, limit: limit)]
    }
    return try source.withField(each.path) { lookup throws(FleeceError) in
      guard let array = try lookup.value?.array() else { return [] }
      var keys: [IndexKey] = []
      for index in 0..<array.count {
        keys.append(try key(of: source, element: try array.value(at: index), limit: limit))
      }
      keys.sort { $0.bytes.lexicographicallyPrecedes($1.bytes) }
      var different: [IndexKey] = []
      for key in keys where different.last?.bytes != key.bytes { different.append(key) }
      return different
    }
  }

  /// - Parameter element: the element that stands for the array.
  private func key(
    of source: some FieldSource, element: FleeceValue?, limit: Int
  ) throws(FleeceError) -> IndexKey {
    var key = CollationKey(limit: limit)
    var lacksValue = false
    for part in parts {
      if part.isEach {
        if CollationTag(element) <= .null { lacksValue = true }
        try key.append(element, descending: part.isDescending)
      } else {
        try source.withField(part.path) { lookup throws(FleeceError) in
          if CollationTag(lookup.value) <= .null { lacksValue = true }
          try key.append(lookup.value, descending: part.isDescending)
        }
      }
    }
    return IndexKey(bytes: key.bytes, isCut: key.isCut, lacksValue: lacksValue)
  }
}
