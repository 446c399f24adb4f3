import LatewoodBytes
import LatewoodFile

/// Finds the structures that offsets belong to. Ascending offsets take a single pass over the
/// frames.
struct StructureFinder {
  private let file: InspectedFile
  private let logStart: UInt64
  private var scan: FrameScan
  private var walk: LogReader<UnitReader>
  private var last: Annotator.Structure?

  init(_ file: InspectedFile) {
    self.file = file
    logStart = file.newestSlot == nil ? file.size : min(file.log.start.offset, file.size)
    scan = file.scan(FileLayout.logStart..<max(FileLayout.logStart, logStart), isProving: false)
    walk = file.logFrames()
  }

  /// Returns the structure at an offset; nil beyond the end of the file.
  mutating func structure(at offset: UInt64) throws(StorageError) -> Annotator.Structure? {
    guard offset < file.size else { return nil }
    if let last {
      let range = last.range(in: file.size)
      if range.contains(offset) { return last }
      if offset < range.lowerBound { self = StructureFinder(file) }
    }
    last = try found(offset)
    return last
  }

  private mutating func found(_ offset: UInt64) throws(StorageError) -> Annotator.Structure {
    if offset < FileLayout.slotOffset(0) {
      return .header(copy: offset < FileLayout.headerCopyOffset ? 0 : 1)
    }
    if offset < FileLayout.logStart { return .slot(offset < FileLayout.slotOffset(1) ? 0 : 1) }
    if offset < logStart {
      while let piece = try scan.next() {
        switch piece {
        case .gap(let range) where range.contains(offset): return .gap(range)
        case .frame(let header, let range, _) where range.contains(offset):
          return .frame(header, range: range)
        default: continue
        }
      }
      return .gap(offset..<logStart)
    }
    while file.newestSlot != nil, walk.position.offset < file.log.end.offset, let frame = try walk.next() {
      if offset < walk.position.offset {
        return .frame(frame, range: frame.ownOffset..<min(file.size, walk.position.offset))
      }
    }
    return .tail(min(max(file.log.end.offset, logStart), offset)..<file.size)
  }
}
