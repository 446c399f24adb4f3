import LatewoodBytes
import LatewoodDevice

/// The length of a reserve, in bytes.
package struct ReserveLengths: Sendable, Equatable {
  /// The length while the disk has plenty of space.
  package var least: UInt64
  /// The length while the disk is low on space: enough for a checkpoint that rewrites the entire
  /// tree. One and a half times the length of the log after `pendingStart` is reserved in addition.
  package var full: UInt64
  /// The offset after which the log has not been merged by a checkpoint.
  package var pendingStart: UInt64

  package init(least: UInt64, full: UInt64, pendingStart: UInt64) {
    self.least = least
    self.full = full
    self.pendingStart = pendingStart
  }
}

/// The blocks that are allocated after the end of the log before they are written, so that space
/// can be freed on a full disk. Operations that free space may use all of these blocks; other
/// operations may only use the blocks ahead of the reserve.
///
/// ```
/// log ... tail |............ ahead ............|........ reserve ........| allocatedThrough
///              | for every commit              | deletes and checkpoints |
/// ```
///
/// As the log grows into these blocks, more are allocated in steps. If the disk is full, a commit
/// that would need the reserve is refused before any of it is written, so that the log continues
/// without a gap.
///
/// Owned by the writer of the log.
struct SpaceReserve {
  /// The minimum and maximum number of bytes allocated in one step. Each step slows down the next
  /// sync, because the file system records the blocks, so a growing log takes longer steps.
  private static let leastStep: UInt64 = 64 << 10
  private static let greatestStep: UInt64 = 1 << 20
  /// The constant part of the threshold for low space, in bytes: the disk is low on space if it has
  /// less than this plus eight times the full reserve.
  private static let lowSpaceLength: UInt64 = 64 << 20

  private let device: any Device
  private let path: String
  /// The minimum length of the next step on a disk with plenty of space.
  private var nextStep = SpaceReserve.leastStep
  private var lengths: ReserveLengths?
  /// The offset below which blocks are allocated.
  private var allocatedThrough: UInt64 = 0
  /// The offset up to which commits leave the reserve intact; `UInt64.max` without a reserve,
  /// because none was set or the file system cannot allocate blocks in advance.
  private var coveredThrough: UInt64 = .max
  /// The offset up to which a commit that frees space does not allocate: its blocks are already
  /// allocated, and so is the reserve after them, unless allocating the reserve has recently
  /// failed.
  private var freeingThrough: UInt64 = .max
  /// The offset up to which allocation is not retried, because the disk was full.
  private var triedThrough: UInt64 = 0
  private var isSupported = true
  /// Whether the reserve is lent to another file.
  private var isLent = false
  /// Whether the disk was low on space when last checked.
  private(set) var isLow = false

  init(_ device: any Device, path: String) {
    self.device = device
    self.path = path
  }

  /// Sets the length of the reserve, without a system call.
  mutating func set(_ lengths: ReserveLengths) {
    guard isSupported else { return }
    self.lengths = lengths
    measure()
  }

  /// The number of bytes allocated after `tail`.
  func length(at tail: UInt64) -> UInt64 { allocatedThrough - min(allocatedThrough, tail) }

  /// Returns whether the disk is low on space and less than the greatest step is left ahead of the
  /// reserve at `tail`.
  func isTight(at tail: UInt64) -> Bool {
    isLow && coveredThrough - min(coveredThrough, tail) < SpaceReserve.greatestStep
  }

  /// The length of the reserve after `end`.
  private func length(behind end: UInt64) -> UInt64 {
    guard let lengths else { return 0 }
    return isLow ? lengths.full + (end - min(end, lengths.pendingStart)) / 2 * 3 : lengths.least
  }

  /// Computes the greatest `end` that is followed by its full reserve.
  private mutating func measure() {
    guard let lengths else { return }
    let plain = allocatedThrough - min(allocatedThrough, isLow ? lengths.full : lengths.least)
    let pending = plain - min(plain, lengths.pendingStart)
    coveredThrough = isLow ? plain - min(plain, pending / 5 * 3 + 3) : plain
    freeingThrough = min(max(coveredThrough, triedThrough), allocatedThrough)
  }

  /// Ensures that blocks are allocated for everything up to `end`, which is about to be appended at
  /// `tail`.
  ///
  /// - Parameter freesSpace: whether the blocks may be taken from the reserve.
  ///
  /// Throws `outOfSpace`; then the log is unchanged.
  @inline(__always) mutating func claim(
    from tail: UInt64, through end: UInt64, freesSpace: Bool
  ) throws(StorageError) {
    let limit = freesSpace ? freeingThrough : coveredThrough
    if end <= limit || extend(from: tail, through: end, freesSpace: freesSpace) { return }
    throw StorageError(
      .outOfSpace,
      "the disk is full: the remaining space is reserved for deletes", path: path,
      advice:
        "Delete data, or free space on the disk, and write again. Earlier commits are not affected.")
  }

  /// Tries to allocate the full reserve again, after `lend`.
  mutating func refill(from tail: UInt64) {
    isLent = false
    _ = extend(from: tail, through: tail, freesSpace: true)
  }

  /// Allocates blocks for the log from `tail` to `end`, and a reserve after them.
  ///
  /// - Parameter freesSpace: whether the blocks may be taken from the reserve.
  /// - Returns: false if the disk is full.
  private mutating func extend(from tail: UInt64, through end: UInt64, freesSpace: Bool) -> Bool {
    guard let lengths, isSupported else { return true }
    if isLent { return freesSpace && allocate(from: tail, through: end) }
    let free = device.freeSpace()
    isLow = free.map { $0 < SpaceReserve.lowSpaceLength + 8 * lengths.full } ?? false
    defer { measure() }
    let step = min(max(tail / 8, isLow ? SpaceReserve.leastStep : nextStep), SpaceReserve.greatestStep)
    let length = length(behind: end)
    if allocate(from: tail, through: end + length + step) {
      nextStep = min(2 * step, SpaceReserve.greatestStep)
      return true
    }
    nextStep = SpaceReserve.leastStep
    if allocate(from: tail, through: end + length) { return true }
    // Only part of the reserve is left, if any.
    guard freesSpace else { return false }
    triedThrough = end + SpaceReserve.leastStep
    return allocate(from: tail, through: triedThrough) || allocate(from: tail, through: end)
  }

  /// Releases the reserve, so that another file can be written. Until `refill`, operations that do
  /// not free space are refused.
  ///
  /// - Returns: false if a reserve did not exist.
  mutating func lend(from tail: UInt64) -> Bool {
    guard isSupported, lengths != nil, !isLent else { return false }
    let mask = device.blockLength - 1
    let (start, end) = ((tail + mask) & ~mask, (allocatedThrough + mask) & ~mask)
    guard start < end else { return false }
    // ext4 does not free blocks after the end of a file, so the file is extended first. The log
    // ends before zeros.
    device.reserve(offset: start, length: end - start)
    do throws(StorageError) {
      guard try device.punch(offset: start, length: end - start) else { return false }
    } catch {
      // Some of the blocks may already have been freed.
      allocatedThrough = tail
      measure()
      return false
    }
    isLent = true
    allocatedThrough = tail
    coveredThrough = 0
    freeingThrough = 0
    return true
  }

  /// Allocates missing blocks from `tail` to `end`; returns false if the disk is full.
  private mutating func allocate(from tail: UInt64, through end: UInt64) -> Bool {
    let start = max(allocatedThrough, tail)
    if end <= start { return true }
    switch device.allocateBlocks(offset: start, length: end - start) {
    case .allocated: allocatedThrough = end
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
