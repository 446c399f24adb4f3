import LatewoodDevice
import LatewoodSimulation

/// An ext4 file system inside of another one, both of which can lose their power.
///
/// ```
/// TMPDIR/latewood-cut-XXXXXX/
///   outer.image  --loop-->  outer/            ext4: stands for the disk and its cache
///     inner.image  --loop-->  inner/          ext4: has the databases
/// ```
///
/// A cut is the shutdown of one of them (EXT4_IOC_SHUTDOWN without a flush of the journal): from
/// that moment on nothing reaches what lies below.
///
/// - Of the *inner* one: what was not synced is gone with the page cache and the unwritten journal.
///   What the file system had handed to its disk stays, whether or not it asked for a flush: the
///   disk has no cache of its own to lose. A sync that is under way at that moment may say that it
///   succeeded when it did not: Linux forgets to look once more whether the journal was given up
///   (seen with a program of twenty lines in 27 of 209 cuts; never with the other kind). No power
///   cut lets a process hear of it, so what is acknowledged after the cut began does not count
///   here.
/// - Of the *outer* one: what the inner file system wrote to its disk and did not flush is gone
///   too, for a flush of that disk is an fsync of its image. So this is a disk with a volatile
///   write cache. Before the cut some of that cache, at random places, is sent on its way, so that
///   parts survive in another order than they were written in.
///
/// What it is not: blocks are lost or kept by pages of 4 KiB, so no sector is torn; the processor,
/// memory and firmware of a real disk have no part in it; and the ext4 below is trusted to keep
/// what it says it has kept.
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
  /// Cuts that took the cache of the disk along.
  private(set) var cacheLosses = 0

  var directory: String { inner }
  let losesUnsynced = true

  /// Throws `Skipped` where the machine cannot do it.
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

  /// Unmounts everything, and removes it.
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
    return true
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
