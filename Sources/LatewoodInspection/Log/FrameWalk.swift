import LatewoodBytes
import LatewoodFile

/// Walks a file from a given offset, frame by frame: the surviving frames before the log, the log,
/// and the bytes after it.
package struct FrameWalk {
  package struct Step: Equatable {
    package enum State: String, Sendable {
      /// A sound frame before the log, which a checkpoint contains.
      case merged
      /// A sound frame of the log.
      case log
      /// An unneeded frame before the log that is damaged or partly punched out.
      case broken
      /// Bytes in which no frame is left.
      case gap
      /// The end of the log, with the reason unless it is the end of the file.
      case reserved, skipped, ended, damaged
    }
    package let state: State
    package let range: Range<UInt64>
    /// The frame; nil for other bytes.
    package let frame: FrameHeader?
    /// The time of a checkpoint, in microseconds since 1970.
    package let time: UInt64?
  }

  private let file: InspectedFile
  private var scan: FrameScan
  private var walk: LogReader<UnitReader>
  private let from: UInt64
  private var hasTail = true

  /// - Parameter from: the first byte of interest.
  package init(_ file: InspectedFile, from: UInt64 = 0) {
    self.file = file
    self.from = from
    let logStart = file.newestSlot == nil ? file.size : file.log.start.offset
    scan = file.scan(FileLayout.logStart..<max(FileLayout.logStart, logStart), isProving: from == 0)
    walk = file.logFrames()
  }

  /// Returns the next step that ends after `from`; nil at the end of the file.
  package mutating func next() throws(StorageError) -> Step? {
    while let piece = try scan.next() {
      switch piece {
      case .gap(let range):
        if range.upperBound > from { return Step(state: .gap, range: range, frame: nil, time: nil) }
      case .frame(let header, let range, var isSound):
        guard range.upperBound > from else { continue }
        if from > 0 { isSound = try file.units.isSound(header) }
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

  /// The end of the log, from which a later walk can continue.
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
  ) throws(StorageError) -> Step {
    let time =
      header.kind == .checkpoint
      ? try file.units.checkpoint(at: header.ownOffset)?.record.time : nil
    return Step(state: state, range: range, frame: header, time: time)
  }
}
