import LatewoodBytes
import LatewoodDevice

/// Everything that determines the possible states of a disk after a power cut: its durable content,
/// and the choices for everything not yet synced. All images of one cut share it.
final class CrashState: Sendable {
  /// A file, with or without unsynced sectors.
  struct File: Sendable {
    let inode: UInt64
    let durableSize: Int
    let liveSize: Int
    let attributes: SimulatedAttributes
    /// Lends regions that start with the durable bytes.
    let regions: RegionPool
  }

  /// A sector with unsynced contents. Choice 0 is the durable content; choice `n` is the content
  /// with index `n - 1`, and the last one is the newest.
  struct Sector: Sendable {
    let file: Int
    let number: Int
    let before: [UInt8]
    let contents: [Content]
    /// Whether no content changes the durable bytes of the sector, so that it may be torn.
    let keepsDurableBytes: Bool
  }

  struct Content: Sendable {
    let bytes: [UInt8]
    /// The file is at least this long if the disk has this content.
    let size: Int
  }

  let files: [File]
  let sectors: [Sector]
  let durableNames: [String: UInt64]
  let nameChanges: [SimulatedVolume.NameChange]
  let names: [UInt64: String]
  let lastInode: UInt64

  /// The number of choices for each sector, and at the end for the names, whose choice is the
  /// number of changes kept.
  let choiceCounts: [Int]

  init(_ volume: SimulatedVolume) {
    var files: [File] = []
    var sectors: [Sector] = []
    for (inode, file) in volume.files.sorted(by: { $0.key < $1.key }) {
      let durable = file.durableBytes
      for (number, state) in file.pending.sorted(by: { $0.key < $1.key }) {
        sectors.append(Sector(number, state, of: file, index: files.count))
      }
      files.append(
        File(
          inode: inode, durableSize: file.durableSize, liveSize: file.liveSize,
          attributes: file.attributes,
          regions: RegionPool(content: durable, capacity: SimulatedVolume.capacity)))
    }
    self.files = files
    self.sectors = sectors
    durableNames = volume.durableNames
    nameChanges = volume.nameChanges
    names = Dictionary(volume.names.map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    lastInode = volume.lastInode
    choiceCounts = sectors.map { $0.contents.count + 1 } + [nameChanges.count + 1]
  }

  /// The names after the first `count` changes.
  func names(after count: Int) -> [String: UInt64] {
    var names = durableNames
    for change in nameChanges.prefix(count) {
      switch change {
      case .bind(let name, let inode): names[name] = inode
      case .rename(let from, let to): names[to] = names.removeValue(forKey: from)
      case .remove(let name): names[name] = nil
      }
    }
    return names
  }
}

extension CrashState.Sector {
  init(_ number: Int, _ state: SimulatedFile.Pending, of file: SimulatedFile, index: Int) {
    self.file = index
    self.number = number
    before = state.before ?? [UInt8](repeating: 0, count: SimulatedFile.sectorLength)
    let newest = CrashState.Content(bytes: file.sectorBytes(number), size: file.size(implying: number))
    contents = state.between.map { CrashState.Content(bytes: $0.bytes, size: $0.size) } + [newest]
    let start = number * SimulatedFile.sectorLength
    let durable = before.prefix(max(0, min(file.durableSize - start, SimulatedFile.sectorLength)))
    keepsDurableBytes = contents.allSatisfy { $0.bytes.starts(with: durable) }
  }
}
