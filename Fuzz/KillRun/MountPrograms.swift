import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import LatewoodTerminal

/// The reason why something cannot be tried on this machine.
struct Skipped: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// The system's programs that create, mount and unmount file systems.
struct MountPrograms {
  private let makeFileSystem: String
  private let mountProgram: String
  private let unmountProgram: String
  private let trimProgram: String

  /// Formats an image with a file system of a given kind, and mounts it. Throws `Skipped` if this
  /// machine does not allow it.
  func mount(_ image: String, as kind: String, at directory: String) throws {
    let program = try Self.find("mkfs.\(kind)")
    let force = kind == "ext4" ? "-F" : "-f"
    guard try Self.run(program, "-q", force, image) == 0,
      try Self.run(mountProgram, "-t", kind, "-o", "loop", image, directory) == 0
    else { throw Skipped("there is no \(kind)") }
  }

  /// Throws `Skipped` if the programs do not exist or this user may not run them.
  init() throws {
    guard CurrentProcess.isPrivileged else { throw Skipped("only root can mount a file system") }
    makeFileSystem = try Self.find("mkfs.ext4")
    mountProgram = try Self.find("mount")
    unmountProgram = try Self.find("umount")
    trimProgram = try Self.find("fstrim")
    guard try FileVolume().exists("/dev/loop0") else { throw Skipped("there are no loop devices") }
  }

  private static func find(_ name: String) throws -> String {
    for directory in ["/usr/sbin", "/usr/bin", "/sbin", "/bin"] {
      if try FileVolume().exists("\(directory)/\(name)") { return "\(directory)/\(name)" }
    }
    throw Skipped("there is no \(name)")
  }

  /// Creates a file with all of its blocks allocated.
  static func makeImage(_ path: String, length: Int) throws {
    let image = try FileVolume().open(path, .createExclusive(permissions: 0o600))
    defer { image.close() }
    let piece = [UInt8](repeating: 0, count: 1 << 20)
    for offset in stride(from: 0, to: length, by: piece.count) {
      try piece.withUnsafeBytes { try image.write($0, at: UInt64(offset)) }
    }
    try image.sync()
  }

  func format(_ image: String) throws {
    guard try Self.run(makeFileSystem, "-q", "-F", "-b", "4096", "-E", "nodiscard", image) == 0 else {
      throw Skipped("\(makeFileSystem) does not make a file system")
    }
  }

  /// Mounts an image. Throws `Skipped` if that fails, because then nothing can be tried.
  func mount(_ image: String, at directory: String) throws {
    guard try Self.run(mountProgram, "-t", "ext4", "-o", "loop", image, directory) == 0 else {
      throw Skipped("\(mountProgram) does not mount \(image) through a loop device")
    }
  }

  /// Mounts a file system in memory with a given number of bytes.
  func mountMemory(at directory: String, length: Int) throws {
    let options = "size=\(length),mode=0700"
    guard try Self.run(mountProgram, "-t", "tmpfs", "-o", options, "tmpfs", directory) == 0 else {
      throw Skipped("\(mountProgram) does not mount a tmpfs")
    }
  }

  /// Limits requests to the loop device of an image to one page.
  ///
  /// Linux reports a request as successful even if its image could take only a part of it. No
  /// engine can handle a disk that lies like this; a single page is written completely or not at
  /// all.
  static func limitRequests(of image: String) throws {
    for device in try Directories.names(in: "/sys/block") where device.hasPrefix("loop") {
      let backing = "/sys/block/\(device)/loop/backing_file"
      guard try FileVolume().exists(backing), try text(of: backing).hasPrefix(image) else { continue }
      let limit = try FileVolume().open("/sys/block/\(device)/queue/max_sectors_kb", .readWrite)
      defer { limit.close() }
      try Array("4\n".utf8).withUnsafeBytes { try limit.write($0, at: 0) }
      return
    }
    throw Skipped("there is no loop device of \(image) in /sys")
  }

  private static func text(of path: String) throws -> String {
    let file = try FileVolume().open(path, .readOnly)
    defer { file.close() }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  /// Returns the free blocks of a mounted file system to its image.
  func trim(_ directory: String) throws {
    guard try Self.run(trimProgram, directory) == 0 else {
      throw Skipped("\(trimProgram) does not make holes in an image")
    }
  }

  /// Unmounts a file system. A process that has just ended may keep it busy for a moment.
  func unmount(_ directory: String) throws {
    for attempt in 0..<50 {
      if try Self.run(unmountProgram, "-q", directory) == 0 { return }
      Monitor.sleep(milliseconds: UInt64(2 + attempt))
    }
    throw Failure("\(unmountProgram) does not unmount \(directory)")
  }

  private static func run(_ program: String, _ arguments: String...) throws -> Int32? {
    try ChildProcess.run(program, arguments: arguments.map { Array($0.utf8) }, hasInput: false)
  }
}
