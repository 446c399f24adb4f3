import LatewoodBytes

/// The names of files that lie beside a database: its lock, and what is not finished yet.
///
/// Such a name is that of the database with a suffix. Where that would be longer than a name can
/// be, it is the beginning of the database's name, a hash of all of it, and the suffix; so every
/// name that a database can have leaves room for these.
package enum SideName {
  package static let lock = ".lock"
  /// Bytes of a name on the file systems that are in use.
  static let longest = 255
  private static let hashLength = 16

  /// - Parameters:
  ///   - path: of the database.
  ///   - suffix: short: at most 100 bytes.
  package static func path(_ path: String, _ suffix: String) -> String {
    let start = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) }
    let name = path[(start ?? path.startIndex)...]
    guard name.utf8.count + suffix.utf8.count > longest else { return path + suffix }
    var end = name.utf8.index(name.startIndex, offsetBy: longest - suffix.utf8.count - hashLength - 1)
    // Not within a character: some file systems want names to be text.
    while end.samePosition(in: path.unicodeScalars) == nil { end = name.utf8.index(before: end) }
    return path[..<end] + "-" + hash(of: name) + suffix
  }

  private static func hash(of name: Substring) -> String {
    let hash = Array(name.utf8).withUnsafeBytes { XXH64.hash($0, seed: 0) }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: hashLength - digits.count) + digits
  }
}
