// Calls for files that only tests make.
import LatewoodDevice

#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension SystemCalls {
  static func openForReading(_ path: String) throws(ErrorNumber) -> Int32 {
    try checked(open(path, O_RDONLY | O_CLOEXEC))
  }

  static func makeSymbolicLink(_ path: String, to target: String) throws(ErrorNumber) {
    _ = try checked(symlink(target, path))
  }

  static func makeHardLink(_ path: String, to target: String) throws(ErrorNumber) {
    _ = try checked(link(target, path))
  }

  static func setOwner(_ path: String, user: UInt32, group: UInt32) throws(ErrorNumber) {
    _ = try checked(chown(path, uid_t(user), gid_t(group)))
  }

  static func owner(of path: String) throws(ErrorNumber) -> (user: UInt32, group: UInt32) {
    var info = stat()
    _ = try checked(stat(path, &info))
    return (info.st_uid, info.st_gid)
  }

  static func setPermissions(_ path: String, _ permissions: UInt16) throws(ErrorNumber) {
    _ = try checked(chmod(path, mode_t(permissions)))
  }

  static var user: UInt32 { UInt32(geteuid()) }
}
