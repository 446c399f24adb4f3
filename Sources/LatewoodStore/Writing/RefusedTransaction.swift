import LatewoodBytes

/// The changes of a transaction whose closure has run, but whose commit found no space outside the
/// reserve.
///
/// ```
/// closure runs -> refused -> checkpoint, reclaim blocks -> the same changes -> committed
///                                                                         \-> refused
/// ```
///
/// It does not keep the transaction itself, because the version of the transaction would prevent
/// dead blocks from being reclaimed.
struct RefusedTransaction: Error {
  let error: StorageError
  /// The records of its operations, one after the other.
  let records: [UInt8]
  /// Whether the commit may use the reserve.
  let freesSpace: Bool
  let durability: Durability
  /// The number of the newest transaction in the state that the closure saw.
  let seen: UInt64
}
