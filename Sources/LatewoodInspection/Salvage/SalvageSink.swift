import LatewoodBytes

/// How far an entry that was saved is to be believed.
package enum SalvageTrust: Sendable, Equatable {
  /// Checksums prove it, and that nothing newer of it was in the file.
  case certain
  /// Checksums prove that it was so after this transaction. It may have been changed or deleted
  /// later.
  case older(UInt64)
  /// Its bytes look right, but the checksum over them includes what was destroyed, or nothing says
  /// that it was ever committed.
  case unproven
}

/// Takes what was saved, in an order in which what comes later counts. Keys are full keys: the
/// number of the keyspace in front.
package protocol SalvageSink: AnyObject {
  func put(_ key: [UInt8], _ value: [UInt8], _ trust: SalvageTrust) throws(Fault)
  func delete(_ key: [UInt8]) throws(Fault)
  /// All keys from `low` on and before `high`; nil is no bound.
  func delete(from low: [UInt8], to high: [UInt8]?) throws(Fault)
  /// What was put under a key and not deleted since.
  func saved(_ key: [UInt8]) throws(Fault) -> (value: [UInt8], trust: SalvageTrust)?
  /// How many keys there are now from `low` on and before `high`.
  func count(from low: [UInt8], to high: [UInt8]?) throws(Fault) -> UInt64
  /// How far it has come, in bytes of the source.
  func progress(_ done: UInt64, of total: UInt64) throws(Fault)
}
