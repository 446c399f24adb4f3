import LatewoodBytes

/// The names of the files next to a database: its lock file, and unfinished files.
///
/// Such a name is the name of the database with a suffix. If that would be too long for a file
/// name, it is the start of the database's name, a hash of the whole name, and the suffix.
/// Therefore every possible database name has side names.
package enum SideName {
  package static let lock = ".lock"
  /// The maximum length of a file name, in bytes, on common file systems.
  static let longest = 255
  private static let hashLength = 16

  /// - Parameters:
  ///   - path: the path of the database.
  ///   - suffix: at most 100 bytes.
  package static func path(_ path: String, _ suffix: String) -> String {
    let start = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) }
    let name = path[(start ?? path.startIndex)...]
    guard name.utf8.count + suffix.utf8.count > longest else { return path + suffix }
    var end = name.utf8.index(name.startIndex, offsetBy: longest - suffix.utf8.count - hashLength - 1)
    // The name is not cut within a character, because some file systems require names to be valid
    // text.
    while end.samePosition(in: path.unicodeScalars) == nil { end = name.utf8.index(before: end) }
    return path[..<end] + "-" + hash(of: name) + suffix
  }

  private static func hash(of name: Substring) -> String {
    let hash = Array(name.utf8).withUnsafeBytes { XXH64.hash($0, seed: 0) }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: hashLength - digits.count) + digits
  }
}
