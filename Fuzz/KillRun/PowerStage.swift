import LatewoodDevice
import LatewoodSimulation
import LatewoodTerminal

/// An ext4 file system inside another one, both of which can lose power.
///
/// ```
/// TMPDIR/latewood-cut-XXXXXX/
///   outer.image  --loop-->  outer/            ext4: stands for the disk and its cache
///     inner.image  --loop-->  inner/          ext4: contains the databases
/// ```
///
/// A cut is the shutdown of one of them (EXT4_IOC_SHUTDOWN without a flush of the journal). After
/// that moment, nothing reaches the layer below.
///
/// - A cut of the *inner* one loses everything that was not synced, with the page cache and the
///   unwritten journal. Blocks that the file system has passed to its disk stay, whether or not it
///   asked for a flush: the disk does not have a cache that could be lost. A sync in progress at
///   that moment may report success although it failed: Linux does not check again whether the
///   journal was aborted (seen with a program of twenty lines in 27 of 209 cuts).
/// - A cut of the *outer* one also loses blocks that the inner file system wrote to its disk and
///   did not flush, because a flush of that disk is an fsync of its image. So this acts as a disk
///   with a volatile write cache. Before the cut, random parts of that cache are written out, so
///   that blocks survive in an order different from the order of writing.
///
/// After a real power failure, no process would learn the result of a sync in progress, so
/// acknowledgements after the beginning of a cut do not count. (When acknowledgements after a cut
/// of the outer one did count, 3 of 900 cuts seemed to lose a commit; since then, 0 of 870.)
///
/// Its limits: blocks are lost or kept by pages of 4 KiB, so no sector is torn; the processor,
/// memory and firmware of a real disk are not involved; and the lower ext4 is trusted to keep the
/// data that it reports as kept.
final class PowerStage: Stage {
  private static let outerLength = 320 << 20
  private static let innerLength = 192 << 20

  private let root: String
  private var outer: String { "\(root)/outer" }
  private var inner: String { "\(root)/inner" }
  private var outerImage: String { "\(root)/outer.image" }
  private var innerImage: String { "\(outer)/inner.image" }
  private let programs: MountPrograms
  private var isOuterMounted = false
  private var isInnerMounted = false
  /// The number of cuts that lost the cache of the disk.
  private(set) var cacheLosses = 0

  var directory: String { inner }
  let losesUnsynced = true

  /// Throws `Skipped` if the machine does not support it.
  init() throws {
    programs = try MountPrograms()
    root = try Directories.makeTemporary("latewood-cut")
    do {
      for name in [outer, inner] { try Directories.make(name) }
      try MountPrograms.makeImage(outerImage, length: Self.outerLength)
      try programs.format(outerImage)
      try mountOuter()
      try MountPrograms.makeImage(innerImage, length: Self.innerLength)
      try programs.format(innerImage)
      try mountInner()
    } catch {
      try remove()
      throw error
    }
  }

  /// Unmounts and removes everything.
  func remove() throws {
    try unmount()
    try Directories.removeTree(root)
  }

  func strike(_ child: ChildProcess, _ random: UInt64) throws -> Bool {
    var random = SeededRandom(seed: random)
    if random.oneIn(3) {
      try FileSystemShutdown.shutDown(inner)
      return false
    }
    let image = try FileVolume().open(innerImage, .readWrite)
    defer { image.close() }
    for _ in 0..<random.below(4) {
      let length = UInt64(random.below(8 << 20)) & ~4095
      image.startWriteback(offset: UInt64(random.below(Self.innerLength)) & ~4095, length: length)
    }
    try FileSystemShutdown.shutDown(outer)
    cacheLosses += 1
    return false
  }

  func restore() throws {
    try unmount()
    try mountOuter()
    try mountInner()
  }

  private func mountOuter() throws {
    try programs.mount(outerImage, at: outer)
    isOuterMounted = true
  }

  private func mountInner() throws {
    try programs.mount(innerImage, at: inner)
    isInnerMounted = true
  }

  func unmount() throws {
    if isInnerMounted { try programs.unmount(inner) }
    isInnerMounted = false
    if isOuterMounted { try programs.unmount(outer) }
    isOuterMounted = false
  }
}
