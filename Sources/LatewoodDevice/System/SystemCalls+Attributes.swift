// Calls for a file's owner, permissions, extended attributes and access control lists.
#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension SystemCalls {
  static func setOwner(_ descriptor: Int32, user: UInt32, group: UInt32) throws(ErrorNumber) {
    _ = try checked(fchown(descriptor, uid_t(user), gid_t(group)))
  }

  static func setPermissions(_ descriptor: Int32, _ permissions: UInt16) throws(ErrorNumber) {
    _ = try checked(fchmod(descriptor, mode_t(permissions)))
  }

  /// The effective user of this process.
  static var effectiveUser: UInt32 { UInt32(geteuid()) }

  // MARK: Extended attributes

  #if !canImport(Darwin)
    private typealias List = @convention(c) (Int32, UnsafeMutableRawPointer?, Int) -> Int
    private typealias Get =
      @convention(c) (Int32, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int
    private typealias Set =
      @convention(c) (Int32, UnsafePointer<CChar>, UnsafeRawPointer?, Int, Int32) -> Int32
    private typealias Remove = @convention(c) (Int32, UnsafePointer<CChar>) -> Int32

    // Swift does not import sys/xattr.h, but the library has these four functions.
    private static func function<F>(_ name: String, _ type: F.Type) -> F? {
      guard let symbol = dlsym(nil, name) else { return nil }
      // SAFETY: the callers below pass the types of flistxattr(2), fgetxattr(2), fsetxattr(2) and
      // fremovexattr(2).
      return unsafeBitCast(symbol, to: type)
    }
    private static let listFunction = function("flistxattr", List.self)
    private static let getFunction = function("fgetxattr", Get.self)
    private static let setFunction = function("fsetxattr", Set.self)
    private static let removeFunction = function("fremovexattr", Remove.self)
  #endif

  private static func list(_ descriptor: Int32, _ target: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    #if canImport(Darwin)
      return flistxattr(descriptor, target?.assumingMemoryBound(to: CChar.self), count, 0)
    #else
      guard let listFunction else {
        errno = ENOSYS
        return -1
      }
      return listFunction(descriptor, target, count)
    #endif
  }

  private static func get(
    _ descriptor: Int32, _ name: String, _ target: UnsafeMutableRawPointer?, _ count: Int
  ) -> Int {
    #if canImport(Darwin)
      return fgetxattr(descriptor, name, target, count, 0, 0)
    #else
      guard let getFunction else {
        errno = ENOSYS
        return -1
      }
      return getFunction(descriptor, name, target, count)
    #endif
  }

  /// Returns the names of all extended attributes that this process may see.
  package static func attributeNames(_ descriptor: Int32) throws(ErrorNumber) -> [String] {
    let bytes = try grown { list(descriptor, $0, $1) }
    return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
  }

  package static func attribute(_ descriptor: Int32, _ name: String) throws(ErrorNumber) -> [UInt8] {
    try grown { get(descriptor, name, $0, $1) }
  }

  package static func setAttribute(_ descriptor: Int32, _ name: String, _ bytes: [UInt8]) throws(ErrorNumber)
  {
    let result = bytes.withUnsafeBytes { bytes -> Int32 in
      #if canImport(Darwin)
        return fsetxattr(descriptor, name, bytes.baseAddress, bytes.count, 0, 0)
      #else
        guard let setFunction else {
          errno = ENOSYS
          return -1
        }
        return setFunction(descriptor, name, bytes.baseAddress, bytes.count, 0)
      #endif
    }
    _ = try checked(result)
  }

  package static func removeAttribute(_ descriptor: Int32, _ name: String) throws(ErrorNumber) {
    #if canImport(Darwin)
      _ = try checked(fremovexattr(descriptor, name, 0))
    #else
      guard let removeFunction else { throw .noSuchCall }
      _ = try checked(removeFunction(descriptor, name))
    #endif
  }

  /// Returns the result of a call that, without a buffer, returns the required length. Tries again
  /// if the result has grown in the meantime.
  private static func grown(
    _ body: (UnsafeMutableRawPointer?, Int) -> Int
  ) throws(ErrorNumber) -> [UInt8] {
    for _ in 0..<8 {
      let length = try checked(body(nil, 0))
      if length == 0 { return [] }
      var bytes = [UInt8](repeating: 0, count: length)
      let count = bytes.withUnsafeMutableBytes { body($0.baseAddress, $0.count) }
      let code = errno
      if count >= 0 { return Array(bytes.prefix(count)) }
      if code != ERANGE { throw ErrorNumber(code) }
    }
    throw .inputOutput
  }

  // MARK: Apple systems

  /// Copies the access control list and the data protection class to another file. On other systems
  /// the access control list is an extended attribute, and the protection class does not exist.
  static func copyAccessList(from source: Int32, to target: Int32) throws(ErrorNumber) {
    #if canImport(Darwin)
      _ = try checked(fcopyfile(source, target, nil, copyfile_flags_t(COPYFILE_ACL)))
      // F_GETPROTECTIONCLASS and F_SETPROTECTIONCLASS, which Swift may not import. A volume without
      // protection refuses both.
      let kind = fcntl(source, 63)
      if kind >= 0, kind != fcntl(target, 63) { _ = fcntl(target, 64, kind) }
    #endif
  }
}
