#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension SystemCalls {
  #if os(Linux)
    private typealias FileSystemStatus = @convention(c) (Int32, UnsafeMutableRawPointer) -> Int32

    // Swift does not import fstatfs on every system, so it is looked up by name.
    private static let fileSystemStatus: FileSystemStatus? = {
      guard let symbol = dlsym(nil, "fstatfs") else { return nil }
      // SAFETY: this is the type of fstatfs(2).
      return unsafeBitCast(symbol, to: FileSystemStatus.self)
    }()

    /// The numbers of file systems whose files are on another machine, or that a process serves:
    /// NFS, SMB and CIFS, 9P, FUSE, AFS, Ceph, Coda, vboxsf.
    private static let remoteFileSystems: Set<UInt32> = [
      0x6969, 0x517B, 0xFE53_4D42, 0xFF53_4D42, 0x0102_1997, 0x6573_5546, 0x5346_414F, 0x00C3_6400,
      0x7375_7245, 0x786F_4256,
    ]
  #endif

  /// Returns whether an open file is known to be on another machine, or in a file system that a
  /// process serves.
  static func isRemote(_ descriptor: Int32) -> Bool {
    #if os(Linux)
      // Larger than the `statfs` structure of any system.
      return withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { status in
        guard let start = status.baseAddress, fileSystemStatus?(descriptor, start) == 0 else { return false }
        // SAFETY: the first field is the number of the file system's kind, a word in host byte
        // order. All such numbers fit into 32 bits.
        return remoteFileSystems.contains(UInt32(truncatingIfNeeded: start.load(as: Int.self)))
      }
    #elseif canImport(Darwin)
      var status = statfs()
      guard fstatfs(descriptor, &status) == 0 else { return false }
      return status.f_flags & UInt32(MNT_LOCAL) == 0
    #else
      return false
    #endif
  }

  /// Returns the number of bytes that the file system of an open file has left for this process;
  /// nil if it does not report it.
  static func freeSpace(_ descriptor: Int32) -> UInt64? {
    #if canImport(Darwin)
      // Block counts of statvfs have 32 bits there.
      var status = statfs()
      guard fstatfs(descriptor, &status) == 0 else { return nil }
      let block = UInt64(status.f_bsize)
    #else
      var status = statvfs()
      guard fstatvfs(descriptor, &status) == 0 else { return nil }
      let block = UInt64(status.f_frsize)
    #endif
    let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: block)
    return overflow ? .max : bytes
  }
}
