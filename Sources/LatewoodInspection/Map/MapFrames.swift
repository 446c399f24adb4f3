import LatewoodBytes
import LatewoodFile

/// The lowest layer of a map: header, slots, frames, and the bytes between and after frames.
///
/// Invariant: the pieces are contiguous and cover the whole file.
struct MapFrames {
  struct Piece {
    var kind: Region.Kind
    var range: Range<UInt64>
    /// Whether its dead parts may contain earlier nodes.
    var mayHoldNodes = false
  }

  private(set) var pieces: [Piece] = []
  /// The ranges that may have holes, ascending.
  private(set) var dead: [Range<UInt64>] = []
  private let size: UInt64

  init(_ file: InspectedFile) throws(StorageError) {
    size = file.size
    for start in [0, FileLayout.headerCopyOffset] {
      add(.header, to: start + UInt64(FileLayout.headerLength))
    }
    for index in 0..<2 { add(.slot, to: FileLayout.slotOffset(index) + UInt64(FileLayout.slotBlockLength)) }
    let hasState = file.newestSlot != nil
    let logStart = hasState ? min(file.log.start.offset, size) : size
    try takePast(file, to: logStart, isLog: !hasState)
    if hasState { try takeLog(file) }
  }

  private var end: UInt64 { pieces.last?.range.upperBound ?? 0 }

  private mutating func add(_ kind: Region.Kind, to end: UInt64, mayHoldNodes: Bool = false) {
    let range = self.end..<max(self.end, min(end, size))
    if !range.isEmpty { pieces.append(Piece(kind: kind, range: range, mayHoldNodes: mayHoldNodes)) }
  }

  /// - Parameter isLog: whether these bytes may belong to the log, because its start is not known.
  private mutating func takePast(_ file: InspectedFile, to end: UInt64, isLog: Bool) throws(StorageError) {
    guard self.end < end else { return }
    if !isLog { dead.append(self.end..<end) }
    var scan = file.scan(self.end..<end)
    var gap: Range<UInt64>?
    while let piece = try scan.next() {
      switch piece {
      case .gap(let range): gap = range
      case .frame(let header, let range, _):
        // The log was restarted after a tail that was skipped.
        if let gap {
          add(header.previousChecksum == 0 ? .skipped : .frame, to: gap.upperBound, mayHoldNodes: true)
        }
        gap = nil
        take(header, range, isLog ? .log : file.isLocked ? .lockedCommit : .deadCommit)
      }
    }
    if let gap {
      let isSkipped = file.log.start.previousChecksum == 0
      add(isLog ? .damaged : isSkipped ? .skipped : .frame, to: gap.upperBound, mayHoldNodes: true)
    }
  }

  private mutating func takeLog(_ file: InspectedFile) throws(StorageError) {
    var walk = file.logFrames()
    while walk.position.offset < file.log.end.offset, let frame = try walk.next() {
      let start = end
      take(frame, start..<walk.position.offset, .log)
      let room = start + UInt64(FrameHeader.length)..<max(end, start + UInt64(FrameHeader.length))
      if frame.kind == .nodes, !room.isEmpty { dead.append(room) }
    }
    switch file.log.tail {
    case .none: add(.frame, to: size)
    case .reserved: add(.reserved, to: size)
    case .skipped, .ended: add(.skipped, to: size)
    case .damaged: add(.damaged, to: size)
    }
  }

  private mutating func take(_ header: FrameHeader, _ range: Range<UInt64>, _ commit: Region.Kind) {
    switch header.kind {
    case .commit: add(commit, to: range.upperBound)
    case .checkpoint, .seal: add(.checkpoint, to: range.upperBound)
    case .nodes:
      add(.frame, to: range.lowerBound + UInt64(FrameHeader.length))
      add(.frame, to: range.upperBound, mayHoldNodes: true)
    }
  }
}
