// The files named SystemCalls are the only ones of this layer that import the C library. This file
// contains the calls for files, locks and mappings.
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

  package init(_ code: Int32) { self.code = code }

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
