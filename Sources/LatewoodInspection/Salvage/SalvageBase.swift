import LatewoodBytes
import LatewoodFile

/// The checkpoint from which a salvage starts.
///
/// As for any reader, it is the checkpoint of the newest valid slot. If the log after that is
/// damaged, a later checkpoint in the file is used. Without slots, it is the newest checkpoint in
/// the file.
struct SalvageBase {
  private(set) var checkpoint: FoundCheckpoint?
  private(set) var isRootSlotDamaged = false
  /// Whether there must have been a tree that can no longer be found.
  private(set) var isTreeLost = false
  /// The greatest *durable through* of the slots.
  private(set) var durableThrough: UInt64 = 0

  /// The offset from which the log is not contained in the checkpoint.
  var replay: UInt64 { checkpoint?.record.replay.offset ?? FileLayout.logStart }

  init(_ file: UnitReader, _ survey: SalvageSurvey) throws(StorageError) {
    var slots: [RootSlot] = []
    for index in 0..<2 {
      if case .success(let slot) = try file.slot(index) {
        slots.append(slot)
      } else {
        isRootSlotDamaged = true
      }
    }
    slots.sort { $0.generation > $1.generation }
    durableThrough = slots.map(\.durableThrough).max() ?? 0
    var startsEmpty = false
    for slot in slots {
      if slot.checkpointOffset == 0 {
        startsEmpty = true
        break
      }
      checkpoint = survey.checkpoints.first {
        $0.offset == slot.checkpointOffset && $0.frame.checksum == slot.checkpointChecksum
      }
      if checkpoint != nil { break }
    }
    if checkpoint == nil, !startsEmpty || slots.count < 2 {
      checkpoint = Self.newest(survey.checkpoints)
    } else if let gap = survey.gaps.first(where: { [replay] in $0.range.lowerBound >= replay }) {
      // A backup ends in a seal; anything after the seal is from a copy that was never finished.
      let end = survey.ends.first { [replay] in $0 >= replay } ?? .max
      let later = survey.checkpoints.filter { $0.offset > gap.range.lowerBound && $0.offset < end }
      if let newer = Self.newest(later),
        newer.record.transaction >= checkpoint?.record.transaction ?? 0
      {
        checkpoint = newer
      }
    }
    // If no slot or frame refers to the tree any longer, only its leaves are left.
    isTreeLost = checkpoint == nil && (survey.hasNodes || slots.isEmpty) && !(startsEmpty && slots.count == 2)
  }

  private static func newest(
    _ checkpoints: [FoundCheckpoint]
  ) -> FoundCheckpoint? {
    checkpoints.max { ($0.record.transaction, $0.offset) < ($1.record.transaction, $1.offset) }
  }
}
