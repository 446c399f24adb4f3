import LatewoodBytes

/// The credibility of a salvaged entry.
package enum SalvageTrust: Sendable, Equatable {
  /// Checksums prove the entry, and prove that the file contained nothing newer for its key.
  case certain
  /// Checksums prove the entry as of this transaction. It may have been changed or deleted later.
  case older(UInt64)
  /// The bytes look correct, but their checksum also covers destroyed bytes, or nothing proves that
  /// the entry was ever committed.
  case unproven
}

/// Receives salvaged entries, later ones replacing earlier ones. Keys are full keys, with the
/// number of the keyspace in front.
package protocol SalvageSink: AnyObject {
  func put(_ key: [UInt8], _ value: [UInt8], _ trust: SalvageTrust) throws(StorageError)
  func delete(_ key: [UInt8]) throws(StorageError)
  /// Deletes all keys from `low`, inclusive, to `high`, exclusive; nil means no bound.
  func delete(from low: [UInt8], to high: [UInt8]?) throws(StorageError)
  /// Returns the entry that was put under a key and not deleted since.
  func saved(_ key: [UInt8]) throws(StorageError) -> (value: [UInt8], trust: SalvageTrust)?
  /// Returns the number of keys from `low`, inclusive, to `high`, exclusive.
  func count(from low: [UInt8], to high: [UInt8]?) throws(StorageError) -> UInt64
  /// Reports the progress in bytes of the source.
  func progress(_ done: UInt64, of total: UInt64) throws(StorageError)
}
