import LatewoodFleece

/// The values of a document in the fields of an index, as sortable bytes.
package struct IndexKey: Sendable, Equatable {
  /// The maximum length of a key in bytes; longer keys are cut.
  package static let lengthLimit = 1024

  package var bytes: [UInt8]
  /// Whether the key was cut. Equal cut keys may represent different values.
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
  /// Appends each key that `keys` returns for a document, without allocating memory for each.
  ///
  /// - Parameters:
  ///   - source: the document.
  ///   - id: its id, which follows each key.
  package func appendKeys(
    of source: some FieldSource, _ id: UnsafeRawBufferPointer, to list: inout IndexKeyList
  ) throws(FleeceError) {
    guard !hasEach else {
      for key in try keys(of: source) {
        key.bytes.withUnsafeBytes { list.append($0, id, isCut: key.isCut, lacksValue: key.lacksValue) }
      }
      return
    }
    if let condition, try !condition.matches(source) { return }
    try list.append(id) { (key) throws(FleeceError) in try write(source, element: nil, to: &key) }
  }

  /// Returns the distinct keys of a document, in order; an empty list if the index does not contain
  /// the document.
  ///
  /// - Parameter limit: the maximum length of a key, in bytes.
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

  private func key(
    of source: some FieldSource, element: FleeceValue?, limit: Int
  ) throws(FleeceError) -> IndexKey {
    var key = CollationKey(limit: limit)
    let lacksValue = try write(source, element: element, to: &key)
    return IndexKey(bytes: key.bytes, isCut: key.isCut, lacksValue: lacksValue)
  }

  /// Appends the values of a document. Returns whether any value is missing or null.
  ///
  /// - Parameter element: the value to use for the array.
  private func write(
    _ source: some FieldSource, element: FleeceValue?, to key: inout CollationKey
  ) throws(FleeceError) -> Bool {
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
    return lacksValue
  }
}
