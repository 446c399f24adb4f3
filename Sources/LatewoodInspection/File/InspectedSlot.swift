import LatewoodBytes
import LatewoodFile

/// One of the two root slots: its contents, and whether it is valid.
package struct InspectedSlot {
  /// 0 or 1.
  package let index: Int
  /// The contents; nil if the slot is damaged.
  package let slot: RootSlot?
  /// The checkpoint that the slot refers to, if it is accepted.
  package let checkpoint: FoundCheckpoint?
  /// The reason why the slot is not valid; nil if it is.
  package let fault: StorageError?

  package var isValid: Bool { slot != nil && fault == nil }

  init(index: Int, _ units: UnitReader) throws(StorageError) {
    self.index = index
    let slot: RootSlot
    switch try units.slot(index) {
    case .success(let read): slot = read
    case .failure(let error):
      (self.slot, checkpoint, fault) = (nil, nil, error)
      return
    }
    self.slot = slot
    if let choice = try units.choice(of: slot) {
      (checkpoint, fault) = (choice.checkpoint, nil)
    } else {
      checkpoint = nil
      fault = .damaged(
        at: slot.checkpointOffset, "root slot \(index) names a checkpoint here that is not sound")
    }
  }
}
