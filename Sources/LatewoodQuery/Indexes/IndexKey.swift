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

/// A key in memory that the next one reuses. It must not leave the call that provided it.
package struct IndexKeyInPlace {
  package let bytes: UnsafeRawBufferPointer
  /// See ``IndexKey/isCut``.
  package let isCut: Bool
  /// See ``IndexKey/lacksValue``.
  package let lacksValue: Bool
}

extension IndexDefinition {
  /// Calls a closure with each key that `keys` returns for a document, without allocating memory
  /// for each.
  ///
  /// - Parameters:
  ///   - source: the document.
  ///   - root: its body, in which most fields are found without asking the source.
  ///   - memory: reused for each document; its limit applies to the keys.
  package func forEachKey(
    of source: some FieldSource, root: FleeceValue, in memory: inout CollationKey,
    _ body: (IndexKeyInPlace) -> Void
  ) throws(FleeceError) {
    guard !isPlain else { return try withPlainKey(of: root, in: &memory, body) }
    guard !hasEach else {
      for key in try keys(of: source, limit: memory.limit) {
        key.bytes.withUnsafeBytes {
          body(IndexKeyInPlace(bytes: $0, isCut: key.isCut, lacksValue: key.lacksValue))
        }
      }
      return
    }
    if let condition, try !condition.matches(source) { return }
    memory.removeAll()
    let lacksValue = try write(source, element: nil, to: &memory)
    memory.bytes.withUnsafeBytes {
      body(IndexKeyInPlace(bytes: $0, isCut: memory.isCut, lacksValue: lacksValue))
    }
  }

  private func withPlainKey(
    of root: FleeceValue, in memory: inout CollationKey, _ body: (IndexKeyInPlace) -> Void
  ) throws(FleeceError) {
    memory.removeAll()
    var lacksValue = false
    let parts = parts.span
    for place in parts.indices {
      let value = try parts[place].path.lookup(in: root).value
      if CollationTag(value) <= .null { lacksValue = true }
      try memory.append(value, descending: parts[place].isDescending)
    }
    memory.bytes.withUnsafeBytes {
      body(IndexKeyInPlace(bytes: $0, isCut: memory.isCut, lacksValue: lacksValue))
    }
  }

  /// Returns the distinct keys of a document, in order; none if the index does not contain it.
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

  /// Appends the values of a document. Returns whether one of them is missing or null.
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
