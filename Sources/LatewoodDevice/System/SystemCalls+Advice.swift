// Calls that tell the system which bytes of a file to cache, write, preallocate or free.
#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif
#if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
  import os
#endif

extension SystemCalls {
  static func forgetCache(_ descriptor: Int32, _ offset: Int64, _ length: Int64) {
    #if canImport(Glibc) || canImport(Musl)
      _ = posix_fadvise(descriptor, off_t(offset), off_t(length), POSIX_FADV_DONTNEED)
    #endif
  }

  #if canImport(Glibc)
    private typealias SyncFileRange = @convention(c) (Int32, Int64, Int64, UInt32) -> Int32

    // Swift does not import sync_file_range, but the library has it.
    private static let syncFileRange: SyncFileRange? = {
      guard let symbol = dlsym(nil, "sync_file_range") else { return nil }
      // SAFETY: this is the type of sync_file_range(2) with 64-bit offsets, the only variant on
      // 64-bit Linux.
      return unsafeBitCast(symbol, to: SyncFileRange.self)
    }()
  #endif

  #if canImport(Glibc)
    private typealias Allocate = @convention(c) (Int32, Int32, Int64, Int64) -> Int32

    // Swift does not import fallocate either. posix_fallocate would write zeros if the file system
    // does not support preallocation.
    private static let allocate: Allocate? = {
      guard let symbol = dlsym(nil, "fallocate") else { return nil }
      // SAFETY: this is the type of fallocate(2) with 64-bit offsets, the only variant on 64-bit
      // Linux.
      return unsafeBitCast(symbol, to: Allocate.self)
    }()
  #endif

  static func reserve(_ descriptor: Int32, _ offset: Int64, _ length: Int64) {
    #if canImport(Glibc)
      if MemoryLayout<Int>.size == 8 { _ = allocate?(descriptor, 0, offset, length) }
    #endif
  }

  /// Allocates blocks for a range of a file, without changing the file's size. Throws
  /// `notSupported` or `noSuchCall` if that is not supported.
  static func allocateBlocks(_ descriptor: Int32, _ offset: Int64, _ length: Int64) throws(ErrorNumber) {
    #if canImport(Glibc)
      let keepSize: Int32 = 1
      guard MemoryLayout<Int>.size == 8, let allocate else { throw ErrorNumber.noSuchCall }
      _ = try checked(allocate(descriptor, keepSize, offset, length))
    #else
      throw ErrorNumber.noSuchCall
    #endif
  }

  /// Frees the blocks of a range of a file, without changing the file's size. Throws `notSupported`
  /// or `noSuchCall` if that is not supported.
  static func punchHole(_ descriptor: Int32, _ offset: Int64, _ length: Int64) throws(ErrorNumber) {
    #if canImport(Glibc)
      let keepSize: Int32 = 1
      let punchHole: Int32 = 2
      guard MemoryLayout<Int>.size == 8, let allocate else { throw ErrorNumber.noSuchCall }
      _ = try checked(allocate(descriptor, keepSize | punchHole, offset, length))
    #elseif canImport(Darwin)
      var hole = fpunchhole_t(fp_flags: 0, reserved: 0, fp_offset: off_t(offset), fp_length: off_t(length))
      if fcntl(descriptor, F_PUNCHHOLE, &hole) < 0 {
        // Some file systems answer ENOTTY to requests that they do not know.
        throw errno == ENOTTY ? ErrorNumber.notSupported : ErrorNumber(errno)
      }
    #else
      throw ErrorNumber.noSuchCall
    #endif
  }

  /// Returns the first hole at or after `offset` that is followed by data or the end of the file;
  /// nil if there is none, or the system does not report holes.
  static func seekHole(_ descriptor: Int32, from offset: Int64) throws(ErrorNumber) -> Range<Int64>? {
    // Swift does not import these names on all systems.
    #if canImport(Darwin)
      let (seekHole, seekData) = (Int32(3), Int32(4))
    #else
      let (seekData, seekHole) = (Int32(3), Int32(4))
    #endif
    let size = Int64(try status(descriptor).size)
    guard offset < size else { return nil }
    let start = Int64(lseek(descriptor, off_t(offset), seekHole))
    guard start >= 0 else {
      // Apple systems answer ENOTTY where the file system cannot tell.
      if [EINVAL, ENXIO, ENOTSUP, ENOTTY].contains(errno) { return nil }
      throw ErrorNumber(errno)
    }
    // Every file has a virtual hole at its end.
    guard start < size else { return nil }
    let end = Int64(lseek(descriptor, off_t(start), seekData))
    return start..<(end > start ? min(end, size) : size)
  }

  /// Zeroes complete pages of a mapping from `mapZeroes` and frees their memory. Returns false if
  /// that is not supported.
  static func discardPages(_ address: UnsafeMutableRawPointer, length: Int) -> Bool {
    #if canImport(Glibc) || canImport(Musl)
      return madvise(address, length, MADV_DONTNEED) == 0
    #else
      // On other systems the advice may not zero them.
      return false
    #endif
  }

  /// Reads the pages of a part of a mapping, as if each were touched, but throws if touching a page
  /// would end the process. Throws `invalid` or `noSuchCall` if that is not supported.
  static func populate(_ start: UnsafeRawPointer, length: Int) throws(ErrorNumber) {
    #if os(Linux)
      // MADV_POPULATE_READ, which not all C libraries define.
      let populateRead: Int32 = 22
      let skipped = Int(UInt(bitPattern: start) & UInt(pageLength - 1))
      _ = try checked(
        madvise(UnsafeMutableRawPointer(mutating: start - skipped), length + skipped, populateRead))
    #else
      throw ErrorNumber.noSuchCall
    #endif
  }

  /// Tells the system that parts of a mapping will be read in random order, so that it reads only
  /// the page that is touched.
  static func expectRandomReads(_ start: UnsafeRawPointer, length: Int) {
    _ = madvise(UnsafeMutableRawPointer(mutating: start), length, MADV_RANDOM)
  }

  /// Asks the system to begin reading a range of a file into its cache. It may read less.
  static func readAhead(_ descriptor: Int32, _ offset: Int64, _ length: Int) {
    #if canImport(Darwin)
      var request = radvisory(ra_offset: off_t(offset), ra_count: Int32(clamping: length))
      _ = fcntl(descriptor, F_RDADVISE, &request)
    #else
      _ = posix_fadvise(descriptor, off_t(offset), off_t(length), POSIX_FADV_WILLNEED)
    #endif
  }

  /// Returns whether all pages of a part of a mapping are in memory, so that touching them does not
  /// read from the disk; nil if the system does not report it. Linux always returns true to users
  /// who neither own nor may write the file (mincore(2)).
  static func isInMemory(_ start: UnsafeRawPointer, length: Int) -> Bool? {
    #if canImport(Glibc) || canImport(Musl)
      let skipped = Int(UInt(bitPattern: start) & UInt(pageLength - 1))
      let (first, count) = (start - skipped, (length + skipped + Int(pageLength) - 1) / Int(pageLength))
      return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { pages in
        guard mincore(UnsafeMutableRawPointer(mutating: first), length + skipped, pages.baseAddress) == 0
        else { return nil }
        // SAFETY: a call that succeeds sets a byte for each page.
        return pages.allSatisfy { $0 & 1 == 1 }
      }
    #else
      return nil
    #endif
  }

  /// The memory of the machine, or what the system allows this process if that is less, in bytes;
  /// nil if the system does not report it.
  static var memoryLength: UInt64? {
    #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
      let available = os_proc_available_memory()
      if available > 0 { return UInt64(available) }
    #endif
    let pages = sysconf(Int32(_SC_PHYS_PAGES))
    return pages > 0 ? UInt64(pages) * pageLength : nil
  }

  /// The page length of the machine, in bytes.
  static let pageLength = UInt64(max(4096, sysconf(Int32(_SC_PAGESIZE))))

  static func startWriteback(_ descriptor: Int32, _ offset: Int64, _ length: Int64) {
    #if canImport(Glibc)
      let startWriting: UInt32 = 2
      if MemoryLayout<Int>.size == 8 { _ = syncFileRange?(descriptor, offset, length, startWriting) }
    #endif
  }

  /// Waits until the range has been written to the disk; returns immediately if the system has no
  /// call for that. Throws if writing failed.
  static func writeBack(_ descriptor: Int32, _ offset: Int64, _ length: Int64) throws(ErrorNumber) {
    #if canImport(Glibc)
      let waitBeforeWriteWaitAfter: UInt32 = 7
      if MemoryLayout<Int>.size == 8, let syncFileRange {
        _ = try checked(syncFileRange(descriptor, offset, length, waitBeforeWriteWaitAfter))
      }
    #endif
  }
}
