import LatewoodBytes

/// The changes of a transaction whose closure has run, and for whose commit there was no space
/// besides the reserve.
///
/// ```
/// closure runs -> refused -> checkpoint, blocks given back -> the same changes -> committed
///                                                                            \-> refused
/// ```
///
/// It does not keep the transaction itself, whose version would keep dead blocks from being given
/// back.
struct RefusedTransaction: Error {
  let fault: Fault
  /// The records of its operations, one after the other.
  let records: [UInt8]
  /// Whether the commit may use the reserve.
  let freesSpace: Bool
  let durability: Durability
  /// The number of the newest transaction in the state that the closure has seen.
  let seen: UInt64
}
