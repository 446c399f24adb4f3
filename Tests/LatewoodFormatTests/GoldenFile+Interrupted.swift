@testable import LatewoodFile

/// Files that a power cut can leave. No acknowledged data is missing.
extension GoldenFile {
  static func interrupted() throws -> [GoldenFile] {
    [
      try tornTail(), try garbageTail(), try afterTornTail(), try reservedRoom(), try lostCheckpoint(),
      try tornSlot(),
    ]
  }

  /// Two commits, and the bytes of a third that no reader may see.
  private static func thirdCommit() throws -> (kept: KeyspaceModel, file: FileSurgery) {
    let store = try ModelledStore(seed: 7)
    try store.commit(.put("fruit", "apple", "red"))
    try store.commit(.put("fruit", "pear", "green"))
    let kept = store.model
    try store.commit(.put("fruit", "plum", "blue"), .delete("fruit", "apple"))
    return (kept, try FileSurgery(store.bytes()))
  }

  private static func tornTail() throws -> GoldenFile {
    var (kept, file) = try thirdCommit()
    file.cut(at: file.bytes.count - 16)
    return GoldenFile("torn-tail", file.bytes, .reads(listing: kept.listing))
  }

  /// The sector of the frame's payload did not reach the disk, but the next ones did.
  private static func garbageTail() throws -> GoldenFile {
    var (kept, file) = try thirdCommit()
    file.flip(file.bytes.count - 16)
    file.append(Array("LWFR".utf8) + [UInt8](repeating: 0xA5, count: 1020))
    return GoldenFile("garbage-tail", file.bytes, .reads(listing: kept.listing))
  }

  /// A writer has continued after a torn tail, so the log restarts behind it.
  private static func afterTornTail() throws -> GoldenFile {
    let store = try ModelledStore(seed: 8)
    try store.commit(.put("fruit", "apple", "red"))
    try store.reopen { $0 += [UInt8](repeating: 0xA5, count: 101) }
    try store.commit(.put("fruit", "pear", "green"))
    return try GoldenFile("after-torn-tail", store)
  }

  private static func reservedRoom() throws -> GoldenFile {
    let store = try ModelledStore(seed: 9)
    try store.commit(.put("fruit", "apple", "red"))
    let bytes = try store.bytes() + [UInt8](repeating: 0, count: 4096)
    return GoldenFile("reserved-room", bytes, .reads(listing: store.model.listing))
  }

  /// The slot reached the disk before the frame of the checkpoint that it names.
  private static func lostCheckpoint() throws -> GoldenFile {
    let store = try checkpointedStore()
    try store.checkpoint()
    var file = try FileSurgery(store.bytes())
    guard let frame = file.frames(.checkpoint).last else { throw Missing() }
    file.cut(at: Int(frame.ownOffset) + 40)
    return GoldenFile("lost-checkpoint", file.bytes, .reads(listing: store.model.listing))
  }

  /// The newest slot was torn. The older checkpoint and more of the log lead to the same state.
  private static func tornSlot() throws -> GoldenFile {
    let store = try checkpointedStore()
    try store.checkpoint()
    var file = try FileSurgery(store.bytes())
    file.flip(12288 + RootSlot.Offset.checkpointOffset)
    return GoldenFile("torn-slot", file.bytes, .reads(listing: store.model.listing, faults: [12288]))
  }

  struct Missing: Error {}
}
