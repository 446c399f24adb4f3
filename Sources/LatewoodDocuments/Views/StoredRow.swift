import LatewoodFleece

/// A row of a view in place: the emitted key, the document and the value. It is valid only during
/// the call that provided it.
///
/// ```
/// key    collation key of the emitted key | id | 00 | number of the row in its document, 4 bytes
/// value  length of the collation key varint | value in Fleece; nothing for null
/// ```
///
/// SAFETY: the initializer checks the lengths against the bytes, and the caller keeps the bytes
/// alive until that call returns.
package struct StoredRow {
  /// The maximum length of an emitted key's collation key, in bytes. Unlike an index key it is
  /// never cut: a longer one makes its document fail.
  package static let keyLimit = 8192
  /// The maximum number of rows of one document.
  package static let rowLimit = 1 << 16
  /// The number of bytes after the id: a zero byte, which no id contains, and the number of the
  /// row.
  private static let tailCount = 5

  /// The key in the keyspace of rows.
  let stored: UnsafeRawBufferPointer
  private let keyCount: Int
  /// The value in Fleece; empty for null.
  let valueBytes: UnsafeRawBufferPointer

  init(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) throws(DatabaseError) {
    guard var source = UntrustedBytes(value, what: "a row of a view") else {
      throw DatabaseError(.corruptData, "a row of a view is empty")
    }
    let length = try source.varint()
    guard key.count > StoredRow.tailCount, length > 0, length < UInt64(key.count - StoredRow.tailCount),
      key[key.count - StoredRow.tailCount] == 0
    else { throw source.damaged("it has no document id") }
    stored = key
    keyCount = Int(length)
    valueBytes = source.rest()
  }

  /// Calls `body` with the row of a key and a value in the store.
  static func reading<R>(_ key: RawSpan, _ value: RawSpan, _ body: (StoredRow) throws -> R) throws -> R {
    try key.withUnsafeBytes { key in
      try value.withUnsafeBytes { value in try body(try StoredRow(key: key, value: value)) }
    }
  }

  /// The collation key.
  var key: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: stored[..<keyCount]) }

  /// The bytes of the document's id.
  var idBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: stored[keyCount..<stored.count - StoredRow.tailCount])
  }

  package var id: String { String(decoding: idBytes, as: UTF8.self) }

  /// The value; nil for null.
  package func value() throws(DatabaseError) -> FleeceValue? {
    guard !valueBytes.isEmpty else { return nil }
    do throws(FleeceError) { return try FleeceValue.root(of: valueBytes) } catch {
      throw DatabaseError(.corruptData, "the value of a row of the document \(id) is damaged: \(error)")
    }
  }

  /// Returns the key of a row in the keyspace of rows.
  static func key(_ key: some Collection<UInt8>, _ id: String, _ number: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(key.count + id.utf8.count + tailCount)
    bytes.append(contentsOf: key)
    bytes.append(contentsOf: id.utf8)
    bytes.append(0)
    withUnsafeBytes(of: UInt32(truncatingIfNeeded: number).bigEndian) { bytes.append(contentsOf: $0) }
    return bytes
  }

  static func value(keyCount: Int, _ value: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(3 + value.count)
    bytes.append(varint: UInt64(keyCount))
    bytes += value
    return bytes
  }
}
