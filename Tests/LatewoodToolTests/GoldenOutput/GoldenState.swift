import LatewoodDevice
import LatewoodFile
import LatewoodInspection
import LatewoodSimulation

@testable import LatewoodTool

/// The possible states of a file that the tool is run on: sound, or damaged in one of twelve ways.
///
/// The sound file is damaged here, with offsets that the tool itself reports; no damaged file is
/// stored.
enum GoldenState: String, CaseIterable {
  case sound
  /// A database that was never written to.
  case empty
  /// The first of the two copies of the header.
  case headerCopy = "header-copy"
  case bothHeaders = "both-headers"
  /// The newer of the two slots, so that the older one must be used.
  case newestSlot = "newest-slot"
  case bothSlots = "both-slots"
  case leaf
  case branch
  case value
  /// The file ends within the last frame of the log.
  case tornTail = "torn-tail"
  /// A commit that was acknowledged.
  case log
  /// The file ends before the oldest checkpoint.
  case cutShort = "cut-short"
  /// The file is not a database.
  case foreign
  case tooNew = "too-new"

  func bytes(of source: GoldenSource) throws -> [UInt8] {
    switch self {
    case .empty: return try Repository.read("Tests/golden/empty.latewood")
    case .tooNew: return try Repository.read("Tests/golden/too-new.latewood")
    case .foreign:
      return Array("SQLite format 3\0".utf8) + [UInt8](repeating: 7, count: 40_000)
    default: break
    }
    var bytes = try GoldenSource.bytes(of: source)
    let places = try GoldenPlaces(bytes)
    switch self {
    case .headerCopy: bytes[20] ^= 0x10
    case .bothHeaders: for offset in [20, 4116] { bytes[offset] ^= 0x10 }
    case .newestSlot: bytes[places.newestSlot + 8] ^= 0x10
    case .bothSlots: for offset in [8200, 12296] { bytes[offset] ^= 0x10 }
    case .leaf: bytes[places.leaf.lowerBound + 100] ^= 0x10
    case .branch: for offset in places.branch { bytes[offset] = 0 }
    case .value: bytes[places.value.upperBound - 5] ^= 0x10
    case .tornTail: bytes.removeLast(20)
    case .log: bytes[places.logFrames[1] + 60] ^= 0x10
    case .cutShort: bytes.removeSubrange((places.oldestCheckpoint - 100)...)
    case .sound, .empty, .foreign, .tooNew: break
    }
    return bytes
  }
}

/// The offsets of the parts of a sound file.
private struct GoldenPlaces {
  let newestSlot: Int
  /// The last leaf of the newest tree.
  let leaf: Range<Int>
  let branch: Range<Int>
  /// A value that the newest tree refers to.
  let value: Range<Int>
  let oldestCheckpoint: Int
  /// The commits after the newest checkpoint.
  let logFrames: [Int]

  struct Missing: Error { let what: String }

  init(_ bytes: [UInt8]) throws {
    let volume = MemoryVolume()
    try Repository.write(bytes, to: "file", on: volume)
    let file = try InspectedFile(path: "file", on: volume)
    defer { file.close() }
    let map = try FileMap(file)
    var (leaves, branches): ([Range<Int>], [Range<Int>]) = ([], [])
    for region in map.regions where region.kind == .node {
      let range = Int(region.range.lowerBound)..<Int(region.range.upperBound)
      guard let node = try file.units.node(at: region.range.lowerBound) else { continue }
      if node.node.isLeaf { leaves.append(range) } else { branches.append(range) }
    }
    guard map.faults.isEmpty, leaves.count > 1, let root = branches.last, let slot = file.newestSlot,
      let value = map.regions.last(where: { $0.kind == .extent }), let checkpoint = file.checkpoint
    else { throw Missing(what: "\(map.faults) leaves \(leaves) branches \(branches) \(map.totals)") }
    newestSlot = Int(FileLayout.slotOffset(slot.index))
    leaf = leaves[leaves.count - 1]
    branch = root
    self.value = Int(value.range.lowerBound)..<Int(value.range.upperBound)
    oldestCheckpoint = Int(try file.checkpoints().last?.offset ?? 0)
    var frames: [Int] = []
    var walk = file.logFrames()
    while let frame = try walk.next() {
      if frame.kind == .commit, frame.ownOffset > checkpoint.offset { frames.append(Int(frame.ownOffset)) }
    }
    guard frames.count > 3 else { throw Missing(what: "frames of the log: \(frames)") }
    logFrames = frames
  }
}
