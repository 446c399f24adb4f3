import LatewoodBytes

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension SystemCalls {
  /// Returns the identity of the file that a path refers to, without following a link at its end,
  /// and the number of its names.
  ///
  /// Unlike `status`, this does not request times. Linux records that the times of a file were
  /// read, and then updates them at the next write: a commit after such a call took 60 µs longer to
  /// sync.
  static func place(ofPath path: String) throws(ErrorNumber) -> (identity: FileIdentity, links: UInt64) {
    #if canImport(Glibc)
      if let extendedStatus { return try place(ofPath: path, by: extendedStatus) }
    #endif
    let status = try status(ofPath: path, followLink: false)
    return (status.identity, status.links)
  }

  #if canImport(Glibc)
    private typealias ExtendedStatus =
      @convention(c) (Int32, UnsafePointer<CChar>, Int32, UInt32, UnsafeMutableRawPointer) -> Int32

    // Swift does not import statx, but the library has had it since 2.28.
    private static let extendedStatus: ExtendedStatus? = {
      guard let symbol = dlsym(nil, "statx") else { return nil }
      // SAFETY: this is the type of statx(2).
      return unsafeBitCast(symbol, to: ExtendedStatus.self)
    }()

    /// The layout of `struct statx`, which is the same on all machines: statx(2).
    private enum Extended {
      static let length = 256
      static let links = 16
      static let inode = 32
      static let majorDevice = 136
      static let minorDevice = 140
      /// The mask that requests the number of names and the inode, but no times.
      static let wanted: UInt32 = 0x4 | 0x100
    }

    private static func place(
      ofPath path: String, by function: ExtendedStatus
    ) throws(ErrorNumber) -> (identity: FileIdentity, links: UInt64) {
      var result: Int32 = 0
      let noLink: Int32 = 0x100
      let place = withUnsafeTemporaryAllocation(byteCount: Extended.length, alignment: 8) { memory in
        memory.initializeMemory(as: UInt8.self, repeating: 0)
        guard let start = memory.baseAddress else { return (FileIdentity(device: 0, inode: 0), UInt64(0)) }
        result = function(AT_FDCWD, path, noLink, Extended.wanted, start)
        // SAFETY: all of these fields lie in the memory, whose bytes the call has set or left zero.
        let bytes = UnsafeRawBufferPointer(memory)
        let device = deviceNumber(
          major: UInt64(bytes.load(fromByteOffset: Extended.majorDevice, as: UInt32.self)),
          minor: UInt64(bytes.load(fromByteOffset: Extended.minorDevice, as: UInt32.self)))
        return (
          FileIdentity(
            device: device, inode: bytes.load(fromByteOffset: Extended.inode, as: UInt64.self)),
          UInt64(bytes.load(fromByteOffset: Extended.links, as: UInt32.self))
        )
      }
      _ = try checked(result)
      return place
    }

    /// Returns a device number as in stat(2): makedev(3).
    private static func deviceNumber(major: UInt64, minor: UInt64) -> UInt64 {
      (major & 0xFFFF_F000) << 32 | (major & 0xFFF) << 8 | (minor & 0xFFFF_FF00) << 12 | minor & 0xFF
    }
  #endif
}
