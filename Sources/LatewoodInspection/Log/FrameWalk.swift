import LatewoodBytes
import LatewoodFile

/// What lies in a file from a place on, frame by frame: before the log as far as it is still there,
/// the log, and what follows it.
package struct FrameWalk {
  package struct Step: Equatable {
    package enum State: String, Sendable {
      /// A sound frame before the log: a checkpoint holds it.
      case merged
      /// A sound frame of the log.
      case log
      /// A frame before the log of which parts were given back, or are damaged: nothing needs it.
      case broken
      /// No frame is here any more.
      case gap
      /// The log has ended: what follows, if it is not merely the end of the file.
      case reserved, skipped, ended, damaged
    }
    package let state: State
    package let range: Range<UInt64>
    /// Nil where there is none.
    package let frame: FrameHeader?
    /// Of a checkpoint, in microseconds since 1970.
    package let time: UInt64?
  }

  private let file: InspectedFile
  private var scan: FrameScan
  private var walk: LogFrames
  private let from: UInt64
  private var hasTail = true

  /// - Parameter from: the first byte that is asked for.
  package init(_ file: InspectedFile, from: UInt64 = 0) {
    self.file = file
    self.from = from
    let logStart = file.newestSlot == nil ? file.size : file.log.start.offset
    scan = file.scan(FileLayout.logStart..<max(FileLayout.logStart, logStart), isProving: from == 0)
    walk = file.logFrames()
  }

  /// The next step that ends behind `from`; nil at the end of the file.
  package mutating func next() throws(Fault) -> Step? {
    while let piece = try scan.next() {
      switch piece {
      case .gap(let range):
        if range.upperBound > from { return Step(state: .gap, range: range, frame: nil, time: nil) }
      case .frame(let header, let range, var isSound):
        guard range.upperBound > from else { continue }
        if from > 0 { isSound = try file.frames.isSound(header) }
        return try step(header, range, isSound ? .merged : .broken)
      }
    }
    guard file.newestSlot != nil else { return nil }
    while walk.position.offset < file.log.end.offset, let frame = try walk.next() {
      if walk.position.offset > from {
        return try step(frame, frame.ownOffset..<walk.position.offset, .log)
      }
    }
    return tail()
  }

  /// The end of the log: where a later walk can go on.
  package var position: UInt64 { walk.position.offset }

  private mutating func tail() -> Step? {
    guard hasTail else { return nil }
    hasTail = false
    let range = min(file.log.end.offset, file.size)..<file.size
    let state: Step.State
    switch file.log.tail {
    case .none: return nil
    case .reserved: state = .reserved
    case .skipped: state = .skipped
    case .ended: state = .ended
    case .damaged: state = .damaged
    }
    return range.upperBound > from ? Step(state: state, range: range, frame: nil, time: nil) : nil
  }

  private func step(
    _ header: FrameHeader, _ range: Range<UInt64>, _ state: Step.State
  ) throws(Fault) -> Step {
    let time =
      header.kind == .checkpoint
      ? try InspectedCheckpoint(at: header.ownOffset, file.frames)?.record.time : nil
    return Step(state: state, range: range, frame: header, time: time)
  }
}
