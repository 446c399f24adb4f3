import LatewoodInspection

/// Finds the frames that were added to a file since the last check.
///
/// It opens the file again for each check: an open reader would prevent the writer from punching
/// holes, and would not notice that a compaction has replaced the file.
struct FrameFollower {
  private let path: String
  private var position: UInt64?
  private var remaining: UInt64
  private var fileID: [UInt64] = []

  var isDone: Bool { remaining == 0 }

  /// - Parameter from: the offset to start from; nil for the end of the log.
  init(path: String, from: UInt64?, limit: UInt64) throws {
    self.path = path
    position = from
    remaining = limit
    let file = try InspectedFile.opened(at: path, needsKey: false)
    fileID = Self.id(of: file)
    if position == nil { position = file.log.end.offset }
    file.close()
  }

  mutating func poll() throws -> [FrameWalk.Step] {
    let file = try InspectedFile.opened(at: path, needsKey: false)
    defer { file.close() }
    if Self.id(of: file) != fileID {
      fileID = Self.id(of: file)
      position = file.log.start.offset
    }
    var steps: [FrameWalk.Step] = []
    var walk = FrameWalk(file, from: position ?? 0)
    while remaining > 0, let step = try walk.next() {
      // The bytes after the log may still become part of it.
      guard step.frame != nil || step.state == .gap else { break }
      // The byte before a frame may belong to the padding of a frame that has been shown.
      if step.range.lowerBound < position ?? 0, !steps.isEmpty { continue }
      steps.append(step)
      remaining -= 1
      position = step.range.upperBound
    }
    return steps
  }

  private static func id(of file: InspectedFile) -> [UInt64] {
    file.header.header.map { [$0.fileID.first, $0.fileID.last] } ?? []
  }
}
