/// The end of the log as it was last read: a refresh of a reader continues there.
struct LogTail {
  /// The replay of the log up to `position`.
  private(set) var replay = LogReplay()
  private(set) var position = ReplayPosition.start
  /// The greatest transaction number before `position`.
  private(set) var lastTransaction: UInt64 = 0
  /// The frame before `position`; nil if the log has not been read.
  private(set) var lastFrame: FrameHeader?
  /// The offset of the frame of the checkpoint that was read last; 0 if there was none.
  private(set) var checkpoint: UInt64 = 0

  /// An end before anything was read.
  init() {}

  /// - Parameter replay: a replay from the checkpoint to the end of the walk.
  init(of reader: LogReader<ViewedBytes>, replay: LogReplay, checkpoint: UInt64) {
    self.checkpoint = checkpoint
    advance(to: reader, replay)
  }

  /// Moves to the end of a longer walk, to which the log was replayed.
  mutating func advance(to reader: LogReader<ViewedBytes>, _ replay: LogReplay) {
    self.replay = replay
    position = reader.position
    lastTransaction = reader.lastTransaction
    lastFrame = reader.lastFrame
  }
}
