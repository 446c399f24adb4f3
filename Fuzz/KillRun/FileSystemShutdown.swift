import LatewoodDevice

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Shuts down a file system that is in use, like a power failure.
enum FileSystemShutdown {
  /// EXT4_IOC_SHUTDOWN, which the headers here do not declare.
  private static let request: UInt = 0x8004_587D
  /// EXT4_GOING_FLAGS_NOLOGFLUSH: the journal in memory is not written.
  private static let withoutFlush: UInt32 = 2

  /// Shuts down the file system that is mounted at a directory: after that, nothing is written to
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
