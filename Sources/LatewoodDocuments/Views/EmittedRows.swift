/// The keys of the rows that one document emitted to a view, or the reason why its map failed.
///
/// They are stored under the id, so that rows can be removed without running a map. A document that
/// emitted nothing has no entry. `kind 1 byte`, then for each row the length of its collation key,
/// varint, and the key; or the reason in UTF-8.
enum EmittedRows: Equatable {
  case rows([[UInt8]])
  case failure(String)

  /// On disk: never renumbered.
  private enum Kind {
    static let rows: UInt8 = 0
    static let failure: UInt8 = 1
  }

  /// The maximum length of a stored reason in bytes.
  static let reasonLimit = 1000

  func encoded() -> [UInt8] {
    switch self {
    case .rows(let keys):
      var bytes = [Kind.rows]
      for key in keys {
        bytes.append(varint: UInt64(key.count))
        bytes += key
      }
      return bytes
    case .failure(let reason): return [Kind.failure] + EmittedRows.cut(reason).utf8
    }
  }

  /// Returns a reason cut to `reasonLimit`.
  private static func cut(_ reason: String) -> String {
    guard reason.utf8.count > reasonLimit else { return reason }
    var cut = ""
    for character in reason.unicodeScalars {
      if cut.utf8.count + UTF8.width(character) > reasonLimit { break }
      cut.unicodeScalars.append(character)
    }
    return cut
  }

  init(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
    guard var source = UntrustedBytes(bytes, what: "the list of a document's rows") else {
      throw DatabaseError(.corruptData, "the list of a document's rows is empty")
    }
    switch try source.byte() {
    case Kind.rows:
      var keys: [[UInt8]] = []
      while !source.isAtEnd {
        let length = try source.varint()
        guard length > 0, keys.count < StoredRow.rowLimit else { throw source.damaged("a key has no bytes") }
        keys.append(Array(try source.bytes(Int(clamping: length))))
      }
      guard !keys.isEmpty else { throw source.damaged("it lists no rows") }
      self = .rows(keys)
    case Kind.failure: self = .failure(String(decoding: source.rest(), as: UTF8.self))
    case let kind: throw source.damaged("its kind is \(kind)")
    }
  }

  var isFailure: Bool { if case .failure = self { true } else { false } }

  /// Returns the keys of the document's rows in the keyspace of rows.
  func storedKeys(_ id: String) -> [[UInt8]] {
    guard case .rows(let keys) = self else { return [] }
    return keys.enumerated().map { StoredRow.key($0.element, id, $0.offset) }
  }
}
