import LatewoodFleece

extension DocumentValue {
  /// The unwritten rest of a collection.
  private enum Rest {
    case elements(IndexingIterator<[DocumentValue]>)
    case members(Dictionary<KeyText, DocumentValue>.Iterator)
  }

  /// The maximum number of changed members for which the unchanged ones are written without being
  /// decoded.
  private static let fewChanges = 8

  /// Writes the value with everything in it; a missing value is written as null. Not recursive, so
  /// depth costs no stack; the writer limits the depth.
  func write(to writer: inout FleeceWriter) throws(FleeceError) {
    var open: [Rest] = []
    var next: DocumentValue? = self
    while true {
      if let value = next, let rest = try value.begin(&writer) { open.append(rest) }
      guard let innermost = open.popLast() else { return }
      switch innermost {
      case .elements(var elements):
        next = elements.next()
        if next == nil { try writer.endArray() } else { open.append(.elements(elements)) }
      case .members(var members):
        next = nil
        while next == nil, let (key, value) = members.next() {
          try writer.key(key.text)
          // Most values are not collections that were built in Swift.
          if value.isBuiltCollection { next = value } else { _ = try value.begin(&writer) }
        }
        if next == nil { try writer.endDictionary() } else { open.append(.members(members)) }
      }
    }
  }

  /// Writes a value; for a collection built in Swift, begins it and returns the rest to write.
  private func begin(_ writer: inout FleeceWriter) throws(FleeceError) -> Rest? {
    switch content {
    case .missing, .null: try writer.null()
    case .boolean(let value): try writer.boolean(value)
    case .integer(let value): try writer.integer(value)
    case .unsigned(let value): try writer.unsigned(value)
    case .double(let value): try writer.double(value)
    case .string(let value): try writer.string(value)
    case .data(let value): try writer.data(value)
    case .stored(let element): try element.write(to: &writer)
    case .damaged(let error): throw error
    case .unstorable: throw FleeceError(.misuse, Timestamp.rangeFault)
    case .refused(let reason): throw FleeceError(.misuse, reason)
    case .array(let storage):
      try writer.beginArray()
      return .elements(storage.elements.makeIterator())
    case .dictionary(let storage):
      try writer.beginDictionary()
      guard let stored = storage.stored else { return .members(storage.changes.makeIterator()) }
      // In most documents, few members are changed.
      guard storage.changes.count <= Self.fewChanges else {
        return .members(try storage.allMembers().makeIterator())
      }
      try stored.writeMembers(to: &writer) { key in
        !storage.changes.keys.contains { $0.text.utf8.elementsEqual(key) }
      }
      let changes = storage.changes
      guard changes.values.allSatisfy(\.exists) else {
        return .members(changes.filter { $0.value.exists }.makeIterator())
      }
      return .members(changes.makeIterator())
    }
    return nil
  }

  /// Returns the value as Fleece: the same bytes for equal values.
  func fleece() throws(FleeceError) -> [UInt8] {
    if case .stored(let element) = content, let written = try element.writtenBytes() { return written }
    return try KeptEncoders.written { (writer: inout FleeceWriter) throws(FleeceError) in
      try write(to: &writer)
    }
  }

  /// Returns the value as the body of a document: the same bytes as `fleece`, unless another writer
  /// has laid out the original body.
  func bodyBytes() throws(FleeceError) -> [UInt8] {
    if case .dictionary(let storage) = content,
      let patched = try storage.patchedBody(maximum: Self.fewChanges)
    {
      return patched
    }
    return try fleece()
  }

  /// Whether the encoded value never shares bytes with others.
  fileprivate var isUnshared: Bool {
    switch content {
    case .null, .boolean, .integer, .unsigned, .double: true
    default: false
    }
  }

  /// Creates a value from JSON text.
  ///
  /// - Throws: ``DatabaseError`` `invalidJSON` with line and column.
  public init(json: String) throws {
    do throws(FleeceError) {
      self.init(stored: try FleeceBody(written: KeptEncoders.fleece(from: json)).root)
    } catch {
      throw DatabaseError(inText: error)
    }
  }

  /// Returns the value as canonical JSON: equal values have the same text.
  ///
  /// - Parameter isIndented: whether to write each member and element on a separate, indented line.
  /// - Throws: ``DatabaseError`` `invalidParameter` if a value cannot be stored;
  ///   `corruptRevisionData` if one is damaged.
  public func toJSON(isIndented: Bool = false) throws -> String {
    do throws(FleeceError) {
      let bytes: [UInt8]
      let style: JSONOutput.Style = isIndented ? .indented : .canonical
      if case .stored(let element) = content {
        bytes = try element.json(style)
      } else {
        bytes = try JSON.text(of: fleece(), style)
      }
      return String(decoding: bytes, as: UTF8.self)
    } catch {
      throw DatabaseError(inValue: error)
    }
  }
}

extension MemberStorage {
  /// Returns a copy of the original body that the changes overwrite in place. This works if only
  /// numbers, Booleans and nulls were changed, and their new stored form has the same size; returns
  /// nil otherwise. If this library wrote the body, the result equals a new encoding of the changed
  /// value.
  fileprivate func patchedBody(maximum: Int) throws(FleeceError) -> [UInt8]? {
    guard let stored, changes.count <= maximum, changes.values.allSatisfy(\.isUnshared),
      var patch = try FleecePatch(stored)
    else { return nil }
    for (key, value) in changes {
      let bytes = try value.fleece()
      guard try patch.replace(key.text, with: bytes) else { return nil }
    }
    return try patch.finish()
  }
}
