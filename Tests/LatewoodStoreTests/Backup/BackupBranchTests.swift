import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Testing

/// Backups of files that share a beginning and then diverge, and backups on disks that lose writes.
@Suite struct BackupBranchTests {
  private func fill(_ store: Store, _ byte: UInt8, count: Int = 30) throws {
    let keyspace = try store.keyspace("a")
    try store.write { transaction in
      for number in 0..<count {
        try transaction.put("key \(number)", [UInt8](repeating: byte, count: 200), in: keyspace)
      }
    }
  }

  @Test func `a copy of the file cannot continue the backup of the original`() throws {
    let volume = SimulatedVolume()
    let store = try CrashScript.open(volume, at: "one")
    try fill(store, 1)
    try volume.place(volume.liveBytes(of: "one"), at: "two")
    let other = try CrashScript.open(volume, at: "two")
    try fill(store, 2)
    try fill(other, 3)
    try store.backup(to: "backup")
    let before = try volume.liveBytes(of: "backup")
    refusal(.alreadyExists) { try other.backup(to: "backup") }
    #expect(try volume.liveBytes(of: "backup") == before)
    #expect(try store.verify().isSound)
  }

  /// The block of the last frame was released, so the frame cannot distinguish the files.
  @Test func `a restored backup that was changed cannot continue a newer backup of the original`() throws {
    let volume = SimulatedVolume()
    let store = try CrashScript.open(volume, at: "one")
    try fill(store, 1)
    try store.backup(to: "backup")
    let length = try volume.liveBytes(of: "backup").count
    let start = length - 56
    try volume.place(volume.liveBytes(of: "backup"), at: "two")
    let restored = try CrashScript.open(volume, at: "two")
    try fill(store, 2)
    try store.backup(to: "backup")
    let end = try volume.liveBytes(of: "backup").count
    for round in 0..<100 {
      try fill(restored, UInt8(10 + round % 50), count: 60)
      try restored.checkpoint()
      let bytes = try volume.liveBytes(of: "two")
      if bytes.count > end, bytes[length..<end].allSatisfy({ $0 == 0 }) { break }
    }
    // The frame itself is in a partial block, which is not released.
    for (index, byte) in try volume.liveBytes(of: "two")[start..<length].enumerated() where byte != 0 {
      try volume.corrupt("two", at: start + index, xor: byte)
    }
    #expect(try volume.liveBytes(of: "two")[start..<end].allSatisfy { $0 == 0 })
    let before = try volume.liveBytes(of: "backup")
    refusal(.alreadyExists) { try restored.backup(to: "backup") }
    #expect(try volume.liveBytes(of: "backup") == before)
    try fill(store, 4)
    #expect(try store.backup(to: "backup").isIncremental)
    #expect(try restored.verify().isSound)
  }

  @Test func `a backup that reached only the cache is an error`() throws {
    var refused = 0
    for call in 0... {
      let volume = SimulatedVolume()
      let store = try CrashScript.open(volume)
      try fill(store, 1)
      let first = volume.callCount
      volume.inject(.lost, atCall: first + call)
      do {
        try store.backup(to: "backup")
        let lost = volume.trace.dropFirst(first).first { $0.fault == .lost }
        // Two losses may go unnoticed: one in the source's own checkpoint before the backup, and
        // one in a root slot, because the other slot still works.
        if lost?.path.hasPrefix("backup") == true, let lost, lost.offset >= 16384 {
          Issue.record("\(lost) was not noticed")
        }
        if lost == nil { break }
      } catch {
        refused += 1
        #expect(error.storeCode == .inputOutput || error.storeCode == .damaged, "\(error)")
      }
      volume.clearFaults()
      volume.crash()
    }
    #expect(refused > 0)
  }
}
