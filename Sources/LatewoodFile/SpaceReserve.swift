import LatewoodBytes
import LatewoodDevice

/// The length of a reserve, in bytes.
package struct ReserveLengths: Sendable, Equatable {
  /// The length while the disk has plenty of space.
  package var least: UInt64
  /// The length while it has little: what a checkpoint takes that rewrites the whole tree. For the
  /// log behind `pendingStart` half as many bytes again as it has are kept besides.
  package var full: UInt64
  /// Where the log begins that no checkpoint has merged.
  package var pendingStart: UInt64

  package init(least: UInt64, full: UInt64, pendingStart: UInt64) {
    self.least = least
    self.full = full
    self.pendingStart = pendingStart
  }
}

/// The blocks behind the end of the log that exist before anything is written to them, so that a
/// full disk can be freed: what frees space may use all of them, and everything else leaves the
/// reserve alone.
///
/// ```
/// log ... tail |............ ahead ............|........ reserve ........| keptThrough
///              | for every commit              | deletes and checkpoints |
/// ```
///
/// The end of the log moves through these blocks, and new ones are allocated in front of it, some
/// at a time. If there are none to be had, a commit that needs the reserve is refused before any of
/// it is written, so that the log goes on behind it without a gap.
///
/// Belongs to the writer of the log.
struct SpaceReserve {
  /// The least and the greatest number of bytes allocated ahead of the reserve at once. Each step
  /// makes the next sync a longer one, because the file system records the blocks. So a log that
  /// goes on growing takes longer steps.
  private static let leastStep: UInt64 = 64 << 10
  private static let greatestStep: UInt64 = 1 << 20
  /// The disk has little space below this many bytes, and eight times the full reserve.
  private static let little: UInt64 = 64 << 20

  private let device: any Device
  private let path: String
  /// The length of the next step on a disk with plenty of space, whatever the length of the log.
  private var nextStep = SpaceReserve.leastStep
  private var lengths: ReserveLengths?
  /// Blocks exist below this offset.
  private var keptThrough: UInt64 = 0
  /// The offset up to which a commit leaves the whole reserve as it is. The greatest number while
  /// there is no reserve, because it is not asked for or the file system cannot keep blocks.
  private var coveredThrough: UInt64 = .max
  /// The offset up to which a commit that frees space need not ask for more blocks: they exist, and
  /// either the reserve behind them does too, or there was no space for it a short while ago.
  private var freeingThrough: UInt64 = .max
  /// The offset up to which nothing more is asked for, because there was no space.
  private var triedThrough: UInt64 = 0
  private var isSupported = true
  /// Whether the reserve has been given back for a while, for another file.
  private var isLent = false
  /// Whether the disk had little space when it was last asked.
  private(set) var isLow = false

  init(_ device: any Device, path: String) {
    self.device = device
    self.path = path
  }

  /// Changes the length from now on. Makes no system call.
  mutating func set(_ lengths: ReserveLengths) {
    guard isSupported else { return }
    self.lengths = lengths
    measure()
  }

  /// The number of bytes that are allocated behind `tail`.
  func length(at tail: UInt64) -> UInt64 { keptThrough - min(keptThrough, tail) }

  /// Whether less than the greatest step can be appended at `tail` without asking for more blocks,
  /// on a disk that has little space.
  func isTight(at tail: UInt64) -> Bool {
    isLow && coveredThrough - min(coveredThrough, tail) < SpaceReserve.greatestStep
  }

  /// The length of the reserve behind `end`.
  private func length(behind end: UInt64) -> UInt64 {
    guard let lengths else { return 0 }
    return isLow ? lengths.full + (end - min(end, lengths.pendingStart)) / 2 * 3 : lengths.least
  }

  /// The greatest `end` that has its reserve behind it.
  private mutating func measure() {
    guard let lengths else { return }
    let plain = keptThrough - min(keptThrough, isLow ? lengths.full : lengths.least)
    let pending = plain - min(plain, lengths.pendingStart)
    coveredThrough = isLow ? plain - min(plain, pending / 5 * 3 + 3) : plain
    freeingThrough = min(max(coveredThrough, triedThrough), keptThrough)
  }

  /// Makes sure that the blocks exist for everything up to `end`, which is about to be appended at
  /// `tail`.
  ///
  /// - Parameter freesSpace: whether they may lie in the reserve.
  ///
  /// Throws `outOfSpace`; then the log is as it was.
  @inline(__always) mutating func claim(
    from tail: UInt64, through end: UInt64, freesSpace: Bool
  ) throws(Fault) {
    let limit = freesSpace ? freeingThrough : coveredThrough
    if end <= limit || extend(from: tail, through: end, freesSpace: freesSpace) { return }
    throw Fault(
      .outOfSpace,
      "the disk is full: what is left is kept for deletes", path: path,
      advice:
        "Delete something, or make room on the disk, and write again; what was committed before is safe.")
  }

  /// Tries again to get the whole reserve, after `lend`.
  mutating func refill(from tail: UInt64) {
    isLent = false
    _ = extend(from: tail, through: tail, freesSpace: true)
  }

  /// Allocates blocks for bytes of the log from `tail` to `end`, and behind them.
  ///
  /// - Parameter freesSpace: whether they may lie in the reserve.
  /// - Returns: false if there is no space for them.
  private mutating func extend(from tail: UInt64, through end: UInt64, freesSpace: Bool) -> Bool {
    guard let lengths, isSupported else { return true }
    if isLent { return freesSpace && keep(from: tail, through: end) }
    let free = device.freeSpace()
    isLow = free.map { $0 < SpaceReserve.little + 8 * lengths.full } ?? false
    defer { measure() }
    let step = min(max(tail / 8, isLow ? SpaceReserve.leastStep : nextStep), SpaceReserve.greatestStep)
    let length = length(behind: end)
    if keep(from: tail, through: end + length + step) {
      nextStep = min(2 * step, SpaceReserve.greatestStep)
      return true
    }
    nextStep = SpaceReserve.leastStep
    if keep(from: tail, through: end + length) { return true }
    // Less than the reserve is left of it, or nothing.
    guard freesSpace else { return false }
    triedThrough = end + SpaceReserve.leastStep
    return keep(from: tail, through: triedThrough) || keep(from: tail, through: end)
  }

  /// Gives the reserve back, so that another file can be written. Until `refill` everything that
  /// does not free space is refused.
  ///
  /// - Returns: false if there was none to give back.
  mutating func lend(from tail: UInt64) -> Bool {
    guard isSupported, lengths != nil, !isLent else { return false }
    let mask = device.blockLength - 1
    let (start, end) = ((tail + mask) & ~mask, (keptThrough + mask) & ~mask)
    guard start < end else { return false }
    // ext4 gives nothing back behind the end of a file. Zeros there mean that the space was never
    // used.
    device.reserve(offset: start, length: end - start)
    do throws(Fault) {
      guard try device.punch(offset: start, length: end - start) else { return false }
    } catch {
      // Some of the blocks may be gone.
      keptThrough = tail
      measure()
      return false
    }
    isLent = true
    keptThrough = tail
    coveredThrough = 0
    freeingThrough = 0
    return true
  }

  /// Whether blocks exist from `tail` to `end`, after allocating those that do not.
  private mutating func keep(from tail: UInt64, through end: UInt64) -> Bool {
    let start = max(keptThrough, tail)
    if end <= start { return true }
    switch device.keepBlocks(offset: start, length: end - start) {
    case .kept: keptThrough = end
    case .full: return false
    case .unsupported:
      isSupported = false
      isLow = false
      lengths = nil
      coveredThrough = .max
      freeingThrough = .max
    }
    return true
  }
}
