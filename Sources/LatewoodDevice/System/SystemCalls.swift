// The files named SystemCalls are the only ones of this layer that import the C library. This file
// contains the calls for files, locks and mappings.
import LatewoodBytes
import Synchronization

#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The error number that a failed system call left in `errno`.
package struct ErrorNumber: Error, Equatable, Sendable {
  package let code: Int32

  // Apple systems have two numbers for what is not supported.
  package init(_ code: Int32) { self.code = code == ENOTSUP ? EOPNOTSUPP : code }

  package static let interrupted = ErrorNumber(EINTR)
  package static let inputOutput = ErrorNumber(EIO)
  package static let noSpace = ErrorNumber(ENOSPC)
  package static let quotaExceeded = ErrorNumber(EDQUOT)
  package static let fileTooBig = ErrorNumber(EFBIG)
  package static let noSuchFile = ErrorNumber(ENOENT)
  package static let notADirectory = ErrorNumber(ENOTDIR)
  package static let isADirectory = ErrorNumber(EISDIR)
  package static let exists = ErrorNumber(EEXIST)
  package static let accessDenied = ErrorNumber(EACCES)
  package static let notPermitted = ErrorNumber(EPERM)
  package static let readOnlyFileSystem = ErrorNumber(EROFS)
  package static let wouldBlock = ErrorNumber(EWOULDBLOCK)
  package static let noLocks = ErrorNumber(ENOLCK)
  package static let notSupported = ErrorNumber(EOPNOTSUPP)
  package static let noSuchCall = ErrorNumber(ENOSYS)
  package static let invalid = ErrorNumber(EINVAL)
  package static let noMemory = ErrorNumber(ENOMEM)
  package static let tooManyOpenInProcess = ErrorNumber(EMFILE)
  package static let tooManyOpenInSystem = ErrorNumber(ENFILE)
  package static let brokenPipe = ErrorNumber(EPIPE)
  package static let nameTooLong = ErrorNumber(ENAMETOOLONG)
  package static let tooManyLinks = ErrorNumber(ELOOP)

  /// The system's message for the error.
  package var message: String {
    // SAFETY: strerror returns a terminated string, which is copied before this thread can call it
    // again.
    strerror(code).map { String(cString: $0) } ?? "error \(code)"
  }
}

/// Thin wrappers of the C library, without policy or retries. A failed call throws its `errno`.
///
/// `LatewoodTerminal` adds the calls that only a program needs.
package enum SystemCalls {
  struct Status {
    enum Kind { case regular, directory, other }
    var kind: Kind
    var identity: FileIdentity
    var size: UInt64
    var allocated: UInt64
    /// The file system's preferred length of reads and writes, in bytes.
    var blockLength: UInt64
    var permissions: UInt16
    /// The number of names of the file; 0 once the last was removed.
    var links: UInt64
    var user: UInt32
    var group: UInt32
  }

  package static func checked(_ result: Int32) throws(ErrorNumber) -> Int32 {
    if result < 0 { throw ErrorNumber(errno) }
    return result
  }

  package static func checked(_ result: Int) throws(ErrorNumber) -> Int {
    if result < 0 { throw ErrorNumber(errno) }
    return result
  }

  // MARK: Files

  // O_NONBLOCK keeps the open of a named pipe from waiting for its other end; regular files ignore
  // it.
  static func openFile(_ path: String, _ mode: OpenMode) throws(ErrorNumber) -> Int32 {
    switch mode {
    case .readOnly: try checked(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK))
    case .readWrite: try checked(open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK))
    case .createExclusive(let permissions):
      try checked(open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_t(permissions)))
    }
  }

  /// Opens a file for reads that bypass the cache. Throws `notSupported` if the system does not
  /// support them.
  static func openDirect(_ path: String) throws(ErrorNumber) -> Int32 {
    guard let direct else { throw .notSupported }
    return try checked(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | direct))
  }

  /// O_DIRECT, which Swift does not import. Its value differs between architectures.
  private static var direct: Int32? {
    #if os(Linux) && (arch(x86_64) || arch(i386) || arch(riscv64) || arch(s390x))
      0o40000
    #elseif os(Linux) && (arch(arm64) || arch(arm))
      0o200000
    #else
      nil
    #endif
  }

  /// Opens or creates a file that only this user may open. Does not follow a symbolic link.
  static func openPrivate(_ path: String) throws(ErrorNumber) -> Int32 {
    try checked(open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, mode_t(0o600)))
  }

  /// Opens an existing file like `openPrivate`.
  static func openExistingPrivate(_ path: String) throws(ErrorNumber) -> Int32 {
    try checked(open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK))
  }

  /// Opens an existing file like `openPrivate`; each write goes to its end.
  static func openForAppending(_ path: String) throws(ErrorNumber) -> Int32 {
    try checked(open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK))
  }

  /// Writes to a file that `openForAppending` has opened. Returns the number of written bytes.
  static func append(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) throws(ErrorNumber) -> Int {
    // SAFETY: the system reads the bytes only during the call.
    let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    return try checked(count)
  }

  static func openDirectory(_ path: String) throws(ErrorNumber) -> Int32 {
    try checked(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
  }

  /// Throws `tooManyOpenInProcess` or `tooManyOpenInSystem` if fewer files than `count` can be
  /// opened.
  static func checkAvailable(descriptors count: Int) throws(ErrorNumber) {
    var opened: [Int32] = []
    defer { for number in opened { closeFile(number) } }
    do throws(ErrorNumber) {
      for _ in 0..<count { opened.append(try openDirectory("/")) }
    } catch {
      if error == .tooManyOpenInProcess || error == .tooManyOpenInSystem { throw error }
    }
  }

  package static func closeFile(_ descriptor: Int32) {
    // The descriptor is closed even if close reports an error, so errors are ignored.
    _ = close(descriptor)
  }

  static func readFile(
    _ descriptor: Int32, _ target: UnsafeMutableRawBufferPointer, _ offset: Int64
  ) throws(ErrorNumber) -> Int {
    try checked(pread(descriptor, target.baseAddress, target.count, off_t(offset)))
  }

  /// Returns the text of a small file, such as a report of the system on its state; nil if it
  /// cannot be read.
  static func contents(ofPath path: String, atMost length: Int) -> String? {
    guard let descriptor = try? openFile(path, .readOnly) else { return nil }
    defer { closeFile(descriptor) }
    return withUnsafeTemporaryAllocation(byteCount: length, alignment: 1) { target in
      (try? readFile(descriptor, target, 0)).map { count in
        String(decoding: UnsafeRawBufferPointer(rebasing: target[..<count]), as: UTF8.self)
      }
    }
  }

  /// Returns the bytes of a file whose length the system does not know; nil if they cannot be read,
  /// or are more than `length`.
  static func wholeContents(ofPath path: String, atMost length: Int) -> [UInt8]? {
    guard let descriptor = try? openFile(path, .readOnly) else { return nil }
    defer { closeFile(descriptor) }
    var all: [UInt8] = []
    while all.count <= length {
      let piece = withUnsafeTemporaryAllocation(byteCount: 32 << 10, alignment: 1) { target in
        (try? readFile(descriptor, target, Int64(all.count))).map { Array(target.prefix($0)) }
      }
      guard let piece else { return nil }
      if piece.isEmpty { return all }
      all += piece
    }
    return nil
  }

  static func writeFile(
    _ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, _ offset: Int64
  ) throws(ErrorNumber) -> Int {
    try checked(pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(offset)))
  }

  static func syncData(_ descriptor: Int32) throws(ErrorNumber) {
    #if canImport(Darwin)
      // On this system, fsync leaves the data in the drive's cache; F_FULLFSYNC does not. Network
      // file systems and some others do not support it.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
      let code = errno
      guard code == ENOTSUP || code == EINVAL || code == ENOTTY || code == ENODEV else {
        throw ErrorNumber(code)
      }
      _ = try checked(fsync(descriptor))
    #else
      _ = try checked(fdatasync(descriptor))
    #endif
  }

  static func syncAll(_ descriptor: Int32) throws(ErrorNumber) {
    #if canImport(Darwin)
      try syncData(descriptor)
    #else
      _ = try checked(fsync(descriptor))
    #endif
  }

  static func status(_ descriptor: Int32) throws(ErrorNumber) -> Status {
    var info = stat()
    _ = try checked(fstat(descriptor, &info))
    return Status(info)
  }

  static func status(ofPath path: String, followLink: Bool) throws(ErrorNumber) -> Status {
    var info = stat()
    _ = try checked(followLink ? stat(path, &info) : lstat(path, &info))
    return Status(info)
  }

  /// The process's limit for file lengths, in bytes; nil if there is none. Read each time, because
  /// it can change.
  static var fileLengthLimit: UInt64? {
    var limit = rlimit()
    #if canImport(Glibc)
      let result = getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    #else
      let result = getrlimit(RLIMIT_FSIZE, &limit)
    #endif
    // "No limit" is the greatest unsigned number on some systems, and the greatest signed number on
    // others.
    guard result == 0, limit.rlim_cur < rlim_t(Int64.max) else { return nil }
    return UInt64(limit.rlim_cur)
  }

  static func renameFile(_ from: String, _ to: String) throws(ErrorNumber) {
    _ = try checked(rename(from, to))
  }

  static func removeFile(_ path: String) throws(ErrorNumber) {
    _ = try checked(unlink(path))
  }

  /// The path without symbolic links. It must exist.
  static func realPath(_ path: String) throws(ErrorNumber) -> String {
    guard let resolved = realpath(path, nil) else { throw ErrorNumber(errno) }
    // SAFETY: realpath allocated the terminated string, which is freed once, after the copy.
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// The text of a symbolic link; nil if there is none at the path.
  static func linkText(ofPath path: String) -> String? {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { target in
      guard let base = target.baseAddress else { return nil }
      let count = readlink(path, base, target.count)
      guard count > 0 else { return nil }
      return String(decoding: UnsafeRawBufferPointer(rebasing: target[..<count]), as: UTF8.self)
    }
  }

  // MARK: Locks

  static func lockFile(_ descriptor: Int32, exclusive: Bool) throws(ErrorNumber) {
    _ = try checked(flock(descriptor, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB))
  }

  /// Waits for an exclusive lock, without limit.
  static func waitForLock(_ descriptor: Int32) throws(ErrorNumber) {
    _ = try checked(flock(descriptor, LOCK_EX))
  }

  static func unlockFile(_ descriptor: Int32) {
    _ = flock(descriptor, LOCK_UN)
  }

  /// Takes an open-file lock on a byte beyond the end of any file. It is independent of the `flock`
  /// that readers take. Throws `wouldBlock` if another open of the file holds it.
  static func lockWriting(_ descriptor: Int32) throws(ErrorNumber) {
    #if os(Linux)
      _ = try checked(writingLock(descriptor, Int16(F_WRLCK)))
    #endif
  }

  static func unlockWriting(_ descriptor: Int32) {
    #if os(Linux)
      _ = writingLock(descriptor, Int16(F_UNLCK))
    #endif
  }

  #if os(Linux)
    private static func writingLock(_ descriptor: Int32, _ kind: Int16) -> Int32 {
      // F_OFD_SETLK, which Swift does not import. Unlike with F_SETLK, the lock belongs to the open
      // file, so closing another open of it does not release the lock.
      let setLock: Int32 = 37
      var request = flock()
      request.l_type = kind
      request.l_whence = Int16(SEEK_SET)
      request.l_start = off_t(1) << (MemoryLayout<off_t>.size == 8 ? 62 : 30)
      request.l_len = 1
      return fcntl(descriptor, setLock, &request)
    }
  #endif

  // MARK: Memory

  /// Maps a part of a file for reading.
  ///
  /// - Parameters:
  ///   - offset: the file offset of the first byte, a multiple of the page length.
  ///   - wish: the requested address. The system may choose another one, and does so if a page in
  ///     the requested range is taken.
  static func mapFile(
    _ descriptor: Int32, offset: Int = 0, length: Int, at wish: UnsafeRawPointer? = nil
  ) throws(ErrorNumber) -> UnsafeMutableRawPointer {
    guard let position = off_t(exactly: offset) else { throw .noMemory }
    return try mapped(
      mmap(
        UnsafeMutableRawPointer(mutating: wish), length, PROT_READ, MAP_SHARED | MAP_NORESERVE, descriptor,
        position))
  }

  /// Maps zeroed memory. The system provides it page by page when it is touched.
  static func mapZeroes(length: Int) throws(ErrorNumber) -> UnsafeMutableRawPointer {
    #if canImport(Darwin)
      let flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE
    #else
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    #endif
    return try mapped(mmap(nil, length, PROT_READ | PROT_WRITE, flags, -1, 0))
  }

  /// Zeroes an entire mapping from `mapZeroes`, atomically for all threads, and frees its memory.
  static func zeroPages(_ address: UnsafeMutableRawPointer, length: Int) {
    #if canImport(Darwin)
      _ = mmap(
        address, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE | MAP_FIXED, -1, 0)
    #else
      _ = madvise(address, length, MADV_DONTNEED)
    #endif
  }

  private static func mapped(_ address: UnsafeMutableRawPointer?) throws(ErrorNumber)
    -> UnsafeMutableRawPointer
  {
    // mmap reports a failure with the address -1. Swift does not import it as MAP_FAILED on every
    // platform.
    guard let address, address != UnsafeMutableRawPointer(bitPattern: -1) else { throw ErrorNumber(errno) }
    return address
  }

  static func unmap(_ address: UnsafeRawPointer, length: Int) {
    _ = munmap(UnsafeMutableRawPointer(mutating: address), length)
  }
}

extension SystemCalls.Status {
  init(_ info: stat) {
    switch info.st_mode & S_IFMT {
    case S_IFREG: kind = .regular
    case S_IFDIR: kind = .directory
    default: kind = .other
    }
    identity = FileIdentity(
      device: UInt64(truncatingIfNeeded: info.st_dev), inode: UInt64(truncatingIfNeeded: info.st_ino))
    size = UInt64(max(0, info.st_size))
    allocated = UInt64(max(0, info.st_blocks)) &* 512
    blockLength = UInt64(max(0, info.st_blksize))
    permissions = UInt16(truncatingIfNeeded: info.st_mode & 0o777)
    links = UInt64(truncatingIfNeeded: info.st_nlink)
    user = UInt32(truncatingIfNeeded: info.st_uid)
    group = UInt32(truncatingIfNeeded: info.st_gid)
  }
}

// Forks, after which a child has the descriptors of its parent.
extension SystemCalls {
  private static let forks = Atomic<UInt64>(0)
  private static let watchesForks: Bool = {
    pthread_atfork(nil, nil, { SystemCalls.forks.add(1, ordering: .relaxed) }) == 0
  }()

  /// The number of forks between the first process that called this and this one, which differs
  /// between a parent and its child.
  ///
  /// Costs one load; getting the process number would cost a system call.
  static var forkGeneration: UInt64 {
    _ = watchesForks
    return forks.load(ordering: .relaxed)
  }

  /// The number of this process.
  static var ownProcess: Int { Int(getpid()) }
}

/// The system calls on a file's bytes, as closures, so that tests can inject interruptions and
/// failures between a `FileDevice` and the system.
package struct FileCalls: Sendable {
  /// Takes a descriptor, a target and an offset. Returns the number of bytes read; 0 at the end of
  /// the file.
  package var read: @Sendable (Int32, UnsafeMutableRawBufferPointer, Int64) throws(ErrorNumber) -> Int
  /// Takes a descriptor, the bytes and an offset. Returns the number of bytes written.
  package var write: @Sendable (Int32, UnsafeRawBufferPointer, Int64) throws(ErrorNumber) -> Int
  /// Takes a descriptor.
  package var sync: @Sendable (Int32) throws(ErrorNumber) -> Void
  /// Takes a descriptor, an offset and a length.
  package var punch: @Sendable (Int32, Int64, Int64) throws(ErrorNumber) -> Void = {
    descriptor, offset, length throws(ErrorNumber) in
    try SystemCalls.punchHole(descriptor, offset, length)
  }

  package static let system = FileCalls(
    read: { descriptor, target, offset throws(ErrorNumber) in
      try SystemCalls.readFile(descriptor, target, offset)
    },
    write: { descriptor, bytes, offset throws(ErrorNumber) in
      try SystemCalls.writeFile(descriptor, bytes, offset)
    },
    sync: { descriptor throws(ErrorNumber) in try SystemCalls.syncData(descriptor) })
}

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
