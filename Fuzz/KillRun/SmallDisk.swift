import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation

/// An ext4 file system whose disk turns out to be smaller than it claims: its image has a hole for
/// each free block, and lies in a memory file system without space to fill the holes. Writes go to
/// the page cache as usual; writing them back, or a sync, fails with EIO once. The blocks that the
/// file system itself needs exist, so it continues, and does not lose anything that it has reported
/// as durable.
///
/// ```
/// TMPDIR/latewood-disk-XXXXXX/
///   memory/           tmpfs, little larger than the image
///     image           48 MiB        ballast      uses up the space
///   disk/             ext4 in image, through a loop device
/// ```
final class SmallDisk {
  private static let memoryLength = 52 << 20
  private static let imageLength = 48 << 20

  private let root: String
  private let programs: MountPrograms
  private var memory: String { "\(root)/memory" }
  private var image: String { "\(memory)/image" }
  private var ballast: String { "\(memory)/ballast" }
  private var isMemoryMounted = false
  private var isDiskMounted = false

  var directory: String { "\(root)/disk" }

  /// Throws `Skipped` if the machine does not support it.
  init() throws {
    programs = try MountPrograms()
    ChildEnvironment.formatWithoutHoles()
    root = try Directories.makeTemporary("latewood-disk")
    for name in [memory, directory] { try Directories.make(name) }
  }

  /// Creates a new, empty file system.
  func renew() throws {
    try unmount()
    try programs.mountMemory(at: memory, length: Self.memoryLength)
    isMemoryMounted = true
    try MountPrograms.makeImage(image, length: Self.imageLength)
    try programs.format(image)
    try mount()
  }

  func mount() throws {
    try programs.mount(image, at: directory)
    isDiskMounted = true
  }

  func unmountDisk() throws {
    if isDiskMounted { try programs.unmount(directory) }
    isDiskMounted = false
  }

  func unmount() throws {
    try unmountDisk()
    if isMemoryMounted { try programs.unmount(memory) }
    isMemoryMounted = false
  }

  func remove() throws {
    try unmount()
    try Directories.removeTree(root)
  }

  /// Turns all free blocks into holes, and leaves space for about `rest` bytes.
  func fill(leaving rest: Int) throws {
    try MountPrograms.limitRequests(of: image)
    try programs.trim(directory)
    let file = try FileVolume().open(ballast, .createExclusive(permissions: 0o600))
    defer { file.close() }
    let page = [UInt8](repeating: 1, count: 4096)
    var length: UInt64 = 0
    var isFull = false
    while !isFull {
      do { try page.withUnsafeBytes { try file.write($0, at: length) } } catch let fault as StorageError {
        guard fault.kind == .outOfSpace else { throw fault }
        isFull = true
      }
      if !isFull { length += UInt64(page.count) }
    }
    // Punch holes from the beginning of the ballast, so that others can use the space.
    _ = try file.punch(offset: 0, length: min(length, UInt64(rest) & ~4095))
  }

  func makeRoom() throws {
    if try FileVolume().exists(ballast) { try FileVolume().remove(ballast) }
  }
}
