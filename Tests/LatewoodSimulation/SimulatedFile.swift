import LatewoodBytes
import LatewoodDevice

/// A file of a simulated disk: the content that a program sees, and the content that a power cut
/// would leave.
///
/// ```
/// live      the page cache, with every write             region, liveSize
/// pending   sectors written since the last sync          before (disk), between (rewritten), now (live)
/// lost      sectors whose sync failed: cached, but never on the disk unless they are written again
/// refused   lost sectors that the disk never had: while cached, later writes are lost too
/// durable   live, but pending and lost sectors with their content on the disk
/// ```
///
/// Invariants:
/// 1. The live and durable contents of a sector that is neither pending nor lost are equal.
/// 2. A sector at or past `durableSize` that is neither pending nor lost is zero.
/// 3. A sector is never both pending and lost.
///
/// All use is under the volume's lock.
final class SimulatedFile {
  static let sectorLength = SimulatedRegion.sectorLength

  /// A sector that was written since the last sync.
  struct Pending {
    /// The content on the disk; nil for zeros.
    var before: [UInt8]?
    /// The earlier contents since the last sync, any of which may have reached the disk.
    var between: [(bytes: [UInt8], size: Int)] = []
  }

  let inode: UInt64
  let region: SimulatedRegion
  private(set) var liveSize: Int
  private(set) var durableSize: Int
  private(set) var pending: [Int: Pending] = [:]
  private(set) var lost: [Int: [UInt8]] = [:]
  private var refused: Set<Int> = []
  /// The sectors that were punched and have not been written since.
  private(set) var holes: Set<Int> = []
  /// The owner, permissions and extended attributes, which are durable immediately.
  var attributes = SimulatedAttributes()
  /// The number of open devices that hold a reader's lock.
  var readers = 0
  /// The process that holds the lock exclusively.
  var exclusiveHolder: Int?

  init(inode: UInt64, region: SimulatedRegion, size: Int) {
    self.inode = inode
    self.region = region
    liveSize = size
    durableSize = size
  }

  private static func start(_ sector: Int) -> Int { sector * sectorLength }

  func sectorBytes(_ sector: Int) -> [UInt8] {
    Array(
      UnsafeRawBufferPointer(
        start: region.base + SimulatedFile.start(sector), count: SimulatedFile.sectorLength))
  }

  /// The least size of the file if the disk has the live content of this sector.
  func size(implying sector: Int) -> Int { min(liveSize, SimulatedFile.start(sector + 1)) }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    guard let source = bytes.baseAddress, !bytes.isEmpty else { return }
    let end = offset + bytes.count
    for sector in offset / SimulatedFile.sectorLength...(end - 1) / SimulatedFile.sectorLength {
      if let index = pending.index(forKey: sector) {
        pending.values[index].between.append((sectorBytes(sector), size(implying: sector)))
      } else if let before = lost.removeValue(forKey: sector) {
        pending[sector] = Pending(before: before)
      } else if SimulatedFile.start(sector) >= durableSize {
        pending[sector] = Pending(before: nil)
      } else {
        pending[sector] = Pending(before: sectorBytes(sector))
      }
    }
    region.touch(offset..<end)
    (region.base + offset).copyMemory(from: source, byteCount: bytes.count)
    liveSize = max(liveSize, end)
    if !holes.isEmpty {
      holes.subtract(offset / SimulatedFile.sectorLength...(end - 1) / SimulatedFile.sectorLength)
    }
  }

  /// Punches whole sectors. They become zeros, each of which may or may not reach the disk, as if
  /// written.
  func punch(_ bytes: Range<Int>) {
    guard !bytes.isEmpty else { return }
    let zeros = [UInt8](repeating: 0, count: bytes.clamped(to: 0..<liveSize).count)
    zeros.withUnsafeBytes { write($0, at: bytes.lowerBound) }
    refused.subtract(
      bytes.lowerBound / SimulatedFile.sectorLength..<bytes.upperBound / SimulatedFile.sectorLength)
    let end = min(
      bytes.upperBound, (liveSize + SimulatedFile.sectorLength - 1) & ~(SimulatedFile.sectorLength - 1))
    guard bytes.lowerBound < end else { return }
    holes.formUnion(bytes.lowerBound / SimulatedFile.sectorLength..<end / SimulatedFile.sectorLength)
  }

  /// Makes the file longer with zeros, which take no sectors. A power cut before the next sync may
  /// undo that.
  func grow(to size: Int) { liveSize = max(liveSize, size) }

  /// The end of the blocks that exist behind the end of the file.
  private var keptSize = 0

  /// The next punched range that ends after an offset; nil if there is none. O(sectors).
  func nextHole(from offset: Int) -> Range<Int>? {
    let length = SimulatedFile.sectorLength
    let end = (liveSize + length - 1) / length
    var first = offset / length
    while first < end, !holes.contains(first) { first += 1 }
    guard first < end, offset < liveSize else { return nil }
    var last = first
    while last < end, holes.contains(last) { last += 1 }
    return max(offset, first * length)..<min(liveSize, last * length)
  }

  /// The number of bytes that the file takes on the disk.
  var allocatedSize: Int {
    max(0, liveSize - holes.count * SimulatedFile.sectorLength) + max(0, keptSize - liveSize)
  }

  /// Allocates blocks in a range: in place of holes, and behind the end of the file.
  func keep(_ range: Range<Int>) {
    keptSize = max(keptSize, range.upperBound)
    let length = SimulatedFile.sectorLength
    let end = (min(range.upperBound, liveSize) + length - 1) / length
    if !holes.isEmpty, range.lowerBound / length < end { holes.subtract(range.lowerBound / length..<end) }
  }

  /// Returns the number of bytes by which the file grows on the disk when a range is written.
  func growth(writing range: Range<Int>) -> Int {
    if range.isEmpty { return 0 }
    let length = SimulatedFile.sectorLength
    // Most writes are behind the end of the file, where holes do not exist.
    let end = min(range.upperBound - 1, liveSize) / length + 1
    var filled = 0
    if !holes.isEmpty, range.lowerBound < liveSize {
      filled = (range.lowerBound / length..<end).count { holes.contains($0) }
    }
    return filled * length + max(0, range.upperBound - max(liveSize, keptSize))
  }

  func sync() {
    for sector in refused {
      guard let state = pending.removeValue(forKey: sector) else { continue }
      lost[sector] = state.before ?? [UInt8](repeating: 0, count: SimulatedFile.sectorLength)
    }
    pending.removeAll(keepingCapacity: true)
    durableSize = liveSize
  }

  /// Fails a sync. The system marks the lost sectors as clean, so later syncs succeed without
  /// writing them.
  func failSync(persisting reachesDisk: (_ sector: Int) -> Bool) {
    for (sector, state) in pending.sorted(by: { $0.key < $1.key }) {
      if reachesDisk(sector) {
        durableSize = max(durableSize, size(implying: sector))
      } else {
        lost[sector] = state.before ?? [UInt8](repeating: 0, count: SimulatedFile.sectorLength)
        if state.before?.allSatisfy({ $0 == 0 }) ?? true { refused.insert(sector) }
      }
    }
    pending.removeAll(keepingCapacity: true)
  }

  /// Makes the bytes just written never reach the disk, without an error of any sync.
  func lose(_ bytes: Range<Int>) {
    guard !bytes.isEmpty else { return }
    let last = (bytes.upperBound - 1) / SimulatedFile.sectorLength
    for sector in bytes.lowerBound / SimulatedFile.sectorLength...last {
      guard let state = pending.removeValue(forKey: sector) else { continue }
      lost[sector] = state.before ?? [UInt8](repeating: 0, count: SimulatedFile.sectorLength)
    }
    durableSize = max(durableSize, size(implying: last))
  }

  /// Drops lost sectors from the cache, so that reads see the disk again. Pending sectors stay in
  /// the cache, as on real systems.
  func dropCache(_ range: Range<Int>) {
    for (sector, bytes) in lost
    where SimulatedFile.start(sector + 1) > range.lowerBound && SimulatedFile.start(sector) < range.upperBound
    {
      replaceLive(sector, bytes)
      lost[sector] = nil
    }
    refused = refused.filter {
      pending[$0] != nil || SimulatedFile.start($0 + 1) <= range.lowerBound
        || SimulatedFile.start($0) >= range.upperBound
    }
  }

  /// Replaces the cached bytes in `target` with the bytes on the disk. Pending sectors have already
  /// been sent to the disk.
  func showDisk(in target: UnsafeMutableRawBufferPointer, at offset: Int, _ count: Int) {
    for (sector, bytes) in lost {
      let start = SimulatedFile.start(sector)
      for at in max(start, offset)..<max(start, offset, min(start + bytes.count, offset + count)) {
        target[at - offset] = bytes[at - start]
      }
    }
  }

  private func replaceLive(_ sector: Int, _ bytes: [UInt8]) {
    let start = SimulatedFile.start(sector)
    region.touch(start..<start + bytes.count)
    bytes.withUnsafeBytes { source in
      if let address = source.baseAddress {
        (region.base + start).copyMemory(from: address, byteCount: source.count)
      }
    }
  }

  /// Flips bits live and on the disk, as decay would.
  func corrupt(at offset: Int, xor mask: UInt8) {
    precondition(offset < liveSize, "there is no byte \(offset)")
    let sector = offset / SimulatedFile.sectorLength
    pending[sector]?.before?[offset % SimulatedFile.sectorLength] ^= mask
    lost[sector]?[offset % SimulatedFile.sectorLength] ^= mask
    region.touch(offset..<offset + 1)
    let address = region.base + offset
    address.storeBytes(of: address.load(as: UInt8.self) ^ mask, as: UInt8.self)
  }

  var liveBytes: [UInt8] { Array(UnsafeRawBufferPointer(start: region.base, count: liveSize)) }

  /// The bytes that are durable.
  var durableBytes: [UInt8] {
    var bytes = Array(UnsafeRawBufferPointer(start: region.base, count: durableSize))
    func put(_ sector: Int, _ content: [UInt8]?) {
      let start = SimulatedFile.start(sector)
      let end = min(start + SimulatedFile.sectorLength, durableSize)
      guard start < end else { return }
      for at in start..<end { bytes[at] = content?[at - start] ?? 0 }
    }
    for (sector, content) in lost { put(sector, content) }
    for (sector, state) in pending { put(sector, state.before) }
    return bytes
  }
}
