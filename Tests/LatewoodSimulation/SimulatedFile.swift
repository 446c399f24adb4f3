import LatewoodBytes
import LatewoodDevice

/// One file of a simulated disk: what a program sees of it, and what a power cut would leave.
///
/// ```
/// live      the page cache: every write at once          region, liveSize
/// pending   sectors written since the last sync          before (on the disk), between (rewritten meanwhile), now (live)
/// lost      sectors whose sync failed: the cache shows them, the disk never gets them unless they are written again
/// refused   those of them that the disk never had: as long as the cache has them, what is written there again does not come to the disk either
/// durable   live, with pending and lost sectors as they are on the disk
/// ```
///
/// Invariants:
/// 1. A sector that is neither pending nor lost is the same live and durable.
/// 2. A sector at or past `durableSize` that is neither pending nor lost is zero.
/// 3. No sector is both pending and lost.
///
/// All use is under the volume's lock.
final class SimulatedFile {
  static let sectorLength = SimulatedRegion.sectorLength

  /// A sector that was written since the last sync.
  struct Pending {
    /// What the disk has; nil for zeroes.
    var before: [UInt8]?
    /// Contents it had between two syncs before it was written again, any of which may be what
    /// reached the disk.
    var between: [(bytes: [UInt8], size: Int)] = []
  }

  let inode: UInt64
  let region: SimulatedRegion
  private(set) var liveSize: Int
  private(set) var durableSize: Int
  private(set) var pending: [Int: Pending] = [:]
  private(set) var lost: [Int: [UInt8]] = [:]
  private var refused: Set<Int> = []
  /// Sectors that were given back and not written since.
  private(set) var holes: Set<Int> = []
  /// What it carries beside its bytes. Durable at once: who changes it waits for that.
  var attributes = SimulatedAttributes()
  /// How many open devices hold a reader's lock.
  var readers = 0
  /// The process that has the lock exclusively.
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

  /// What the size is at least if the disk has the live content of this sector.
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

  /// Gives whole sectors back: zeros, of which each reaches the disk by itself, or not, as if it
  /// had been written.
  func punch(_ bytes: Range<Int>) {
    guard !bytes.isEmpty else { return }
    let zeros = [UInt8](repeating: 0, count: bytes.clamped(to: 0..<liveSize).count)
    zeros.withUnsafeBytes { write($0, at: bytes.lowerBound) }
    refused.subtract(
      bytes.lowerBound / SimulatedFile.sectorLength..<bytes.upperBound / SimulatedFile.sectorLength)
    holes.formUnion(
      bytes.lowerBound / SimulatedFile.sectorLength..<bytes.upperBound / SimulatedFile.sectorLength)
  }

  /// Makes the file longer by zeros, which take no sectors. A power cut before the next sync may
  /// undo that.
  func grow(to size: Int) { liveSize = max(liveSize, size) }

  func sync() {
    for sector in refused {
      guard let state = pending.removeValue(forKey: sector) else { continue }
      lost[sector] = state.before ?? [UInt8](repeating: 0, count: SimulatedFile.sectorLength)
    }
    pending.removeAll(keepingCapacity: true)
    durableSize = liveSize
  }

  /// A sync that fails. The system takes what it could not write for written: later syncs succeed
  /// without it.
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

  /// What was just written never comes to the disk, and no sync tells.
  func lose(_ bytes: Range<Int>) {
    guard !bytes.isEmpty else { return }
    let last = (bytes.upperBound - 1) / SimulatedFile.sectorLength
    for sector in bytes.lowerBound / SimulatedFile.sectorLength...last {
      guard let state = pending.removeValue(forKey: sector) else { continue }
      lost[sector] = state.before ?? [UInt8](repeating: 0, count: SimulatedFile.sectorLength)
    }
    durableSize = max(durableSize, size(implying: last))
  }

  /// Reads see the disk again where the cache had what the disk has not. What is pending stays in
  /// the cache, as it does in life.
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

  /// Puts what the disk has in the place of what the cache shows. What is pending has been sent to
  /// the disk before it is read.
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

  /// What the disk has for sure.
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
