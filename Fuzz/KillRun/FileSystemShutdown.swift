import LatewoodDevice

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Shuts a file system down that is in use, as a power failure would.
enum FileSystemShutdown {
  /// EXT4_IOC_SHUTDOWN, which no header declares here.
  private static let request: UInt = 0x8004_587D
  /// EXT4_GOING_FLAGS_NOLOGFLUSH: the journal in memory is not written.
  private static let withoutFlush: UInt32 = 2

  /// Shuts down the file system that is mounted at a directory: from now on nothing is written to
  /// its disk, and all calls fail.
  static func shutDown(_ directory: String) throws {
    #if os(Linux)
      let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard descriptor >= 0 else { throw Failure("could not open \(directory): error \(errno)") }
      defer { close(descriptor) }
      var flags = withoutFlush
      guard ioctl(descriptor, request, &flags) == 0 else {
        throw Skipped("this system does not shut down an ext4 file system: error \(errno)")
      }
    #else
      throw Skipped("this system does not shut down file systems")
    #endif
  }
}
