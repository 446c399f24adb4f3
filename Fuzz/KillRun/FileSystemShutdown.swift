import LatewoodDevice

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The end of a file system that is in use, as a power cut would be it.
enum FileSystemShutdown {
  /// EXT4_IOC_SHUTDOWN, which no header shows here.
  private static let request: UInt = 0x8004_587D
  /// EXT4_GOING_FLAGS_NOLOGFLUSH: what is in memory of the journal stays there.
  private static let withoutFlush: UInt32 = 2

  /// From here on nothing is written to the disk of the file system that is mounted at a directory,
  /// and all that is asked of it fails.
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
