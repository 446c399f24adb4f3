import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// The names of keyspaces, kept in keyspace 0. On disk: FORMAT.md, section 9.
///
/// ```
/// n name          -> number, 4 bytes little-endian
/// i number (BE)   -> name
/// c               -> number of the next new keyspace, 4 bytes little-endian
/// ```
enum Catalog {
  static let keyspace: UInt32 = 0
  static let nameTag = UInt8(ascii: "n")
  static let numberTag = UInt8(ascii: "i")
  static let counterKey: [UInt8] = [UInt8(ascii: "c")]
  static let maximumNameLength = 1024
  /// The maximum number of a keyspace. Its successor must exist as the end of the range of its
  /// keys.
  static let maximumNumber = UInt32.max - 1

  static func nameKey(_ name: String) -> [UInt8] { [nameTag] + Array(name.utf8) }
  static func numberKey(_ number: UInt32) -> [UInt8] {
    [numberTag] + withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }
  static func encode(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }

  /// Returns the lower bound of a keyspace's full keys; the first key of the next number is the
  /// upper one.
  static func firstKey(of number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

  /// Returns whether an operation changes the catalog.
  static func isInside(_ record: LogRecord) -> Bool {
    record.keyCount >= FullKey.prefixLength
      && UInt32(bigEndian: record.key.loadUnaligned(as: UInt32.self)) == keyspace
  }

  static func checkName(_ name: String) throws(StorageError) {
    let length = name.utf8.count
    guard length > 0, length <= maximumNameLength else {
      throw StorageError(
        .invalidName, "a keyspace's name has \(length) bytes instead of 1 to \(maximumNameLength)")
    }
  }

  static func decodeNumber(
    _ value: UnsafeRawBufferPointer, upTo greatest: UInt32 = maximumNumber
  ) throws(StorageError) -> UInt32 {
    guard value.count == 4, let start = value.baseAddress else {
      throw StorageError(
        .damaged, "an entry of the catalog of keyspaces has \(value.count) bytes instead of 4")
    }
    let number = start.u32(0)
    guard number > keyspace, number <= greatest else {
      throw StorageError(.damaged, "an entry of the catalog of keyspaces has the impossible number \(number)")
    }
    return number
  }

  /// Returns the number of the keyspace with this name, or nil if it does not exist.
  static func number(of name: String, in view: ReadView) throws(StorageError) -> UInt32? {
    guard let value = try find(nameKey(name), in: view) else { return nil }
    return try decodeNumber(value)
  }

  /// Returns whether the keyspace with this number has this name. The number of an aborted
  /// transaction's keyspace is assigned again, so only number and name together identify a
  /// keyspace.
  static func exists(_ number: UInt32, named name: String, in view: ReadView) throws(StorageError) -> Bool {
    guard let value = try find(numberKey(number), in: view) else { return false }
    return value.elementsEqual(name.utf8)
  }

  static func nextNumber(in view: ReadView) throws(StorageError) -> UInt32 {
    guard let value = try find(counterKey, in: view) else { return 1 }
    return try decodeNumber(value, upTo: .max)
  }

  private static func find(_ key: [UInt8], in view: ReadView) throws(StorageError) -> UnsafeRawBufferPointer?
  {
    let full = firstKey(of: keyspace) + key
    return try full.withStart { (start, count) throws(StorageError) in try view.find(start, count) }
  }

  /// Returns all keyspaces, by name.
  static func all(in view: ReadView) throws(StorageError) -> [(name: String, number: UInt32)] {
    let prefix = firstKey(of: keyspace)
    let low = prefix + [nameTag]
    var result: [(name: String, number: UInt32)] = []
    var cursor = MergedCursor(view)
    try cursor.seek(low)
    while cursor.isValid {
      let key = try cursor.fullKey()
      guard key.starts(with: low) else { break }
      result.append((String(decoding: key[low.count...], as: UTF8.self), try decodeNumber(cursor.value())))
      try cursor.next()
    }
    return result
  }
}
