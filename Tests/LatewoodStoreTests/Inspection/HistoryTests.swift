import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodFile

/// A lost checkpoint does not hide the newer ones.
@Suite struct HistoryTests {
  private let volume = SimulatedVolume()
  /// The history before anything was damaged.
  private let whole: [Checkpoint]

  init() throws {
    let store = try CrashScript.open(volume.process(1), wholeCheckpoints: 5)
    for round in 0..<5 {
      try store.put("key\(round)", "value", in: store.keyspace("a"))
      try store.checkpoint()
    }
    try store.close()
    let reader = try CrashScript.open(volume.process(2), .readOnly)
    whole = try reader.history()
    try reader.close()
  }

  private func damage(_ checkpoint: Checkpoint) throws {
    let offset = Int(checkpoint.offset) + FrameHeader.length + CheckpointRecord.Offset.time
    try volume.corrupt(CrashScript.path, at: offset, xor: 1)
  }

  @Test func `an undamaged history is complete`() throws {
    #expect(whole.count == 5)
    #expect(whole.allSatisfy { !$0.isOlderLost })
  }

  @Test(arguments: 1..<5) func `history ends before a damaged checkpoint`(at damaged: Int) throws {
    try damage(whole[damaged])
    let reader = try CrashScript.open(volume.process(3), .readOnly)
    let left = try reader.history()
    #expect(left.map(\.offset) == whole[..<damaged].map(\.offset))
    #expect(left.map(\.isOlderLost) == (1...damaged).map { $0 == damaged })
    for (index, checkpoint) in left.enumerated() {
      let past = try reader.snapshot(asOf: checkpoint)
      #expect(try past.count(in: reader.keyspace("a")) == 5 - index)
    }
    #expect(try reader.statistics().checkpointTransaction == whole[0].transaction)
    #expect(try reader.verify().isSound)
    refusal(.damaged) { _ = try reader.snapshot(asOf: whole[damaged]) }
    try reader.close()
  }

  @Test func `history ends at a checkpoint whose predecessor does not lie before it`() throws {
    // The third newest checkpoint names the oldest as its predecessor; the oldest names the second
    // oldest, which lies after it. Following a reference forward could loop.
    var bytes = try volume.liveBytes(of: CrashScript.path)
    let codec = try bytes.withUnsafeBytes { try FileHeader.decode(from: $0).codec }
    for (checkpoint, previous) in [(2, whole[4].offset), (4, whole[3].offset), (3, 0)] {
      let offset = Int(whole[checkpoint].offset)
      try bytes.withUnsafeMutableBytes { all in
        let base = try #require(all.baseAddress)
        base.set(previous, at: offset + FrameHeader.length + CheckpointRecord.Offset.previousCheckpoint)
        let header = try #require(FrameHeader.decode(from: base + offset, at: UInt64(offset)))
        _ = header.encode(into: base + offset, codec: codec)
      }
    }
    let other = SimulatedVolume()
    try other.place(bytes, at: CrashScript.path)
    let reader = try CrashScript.open(other.process(1), .readOnly)
    #expect(try reader.history().map(\.offset) == [0, 1, 2, 4].map { whole[$0].offset })
    #expect(try reader.history().last?.isOlderLost == true)
    try reader.close()
  }

  @Test func `a damaged newest checkpoint is an error`() throws {
    let reader = try CrashScript.open(volume.process(3), .readOnly)
    try damage(whole[0])
    let error = refusal(.damaged) { _ = try reader.history() }
    #expect(error?.offset == whole[0].offset)
    try reader.close()
  }
}
