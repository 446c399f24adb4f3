import LatewoodDevice

/// Databases by name in one directory.
///
/// A name is 1 to 239 bytes of `a-z 0-9 _ $ ( ) + - /`, the first a letter: the rules of Couchbase
/// Lite and CouchDB. A `/` in a name is a `:` in the name of its file, which ends in `.latewood`.
public struct DatabaseDirectory: Sendable {
  /// The path of the directory, which must exist.
  public let path: String
  private static let suffix = ".latewood"

  public init(path: String) { self.path = path }

  /// Returns the path of a database, whether or not it exists. Throws `invalidParameter` if the
  /// name is not valid.
  public func path(of name: String) throws -> String {
    try Self.check(name)
    let file = name.utf8.map { $0 == UInt8(ascii: "/") ? UInt8(ascii: ":") : $0 }
    return "\(path)/\(String(decoding: file, as: UTF8.self))\(Self.suffix)"
  }

  /// Opens a database, creating it if there is none. Throws like
  /// ``Database/open(at:mode:configuration:)``.
  public func open(
    _ name: String, configuration: Database.Configuration = Database.Configuration()
  ) throws -> Database {
    try Database.open(at: path(of: name), configuration: configuration)
  }

  /// Opens a database; nil if there is none.
  public func existing(
    _ name: String, configuration: Database.Configuration = Database.Configuration()
  ) throws -> Database? {
    try Database.existing(at: path(of: name), configuration: configuration)
  }

  /// Returns whether there is a database of a name.
  public func exists(_ name: String) throws -> Bool { try Database.exists(at: path(of: name)) }

  /// Deletes a database. Returns false if there was none. Throws like ``Database/delete(at:)``.
  @discardableResult
  public func delete(_ name: String) throws -> Bool { try Database.delete(at: path(of: name)) }

  /// Returns the names of all databases in the directory, sorted.
  public func names() throws -> [String] {
    let files: [String]
    do { files = try Directories.names(in: path) } catch { throw DatabaseError(fault: error, path: path) }
    return files.filter { $0.hasSuffix(Self.suffix) }.map { file in
      let bytes = file.utf8.dropLast(Self.suffix.utf8.count)
      return String(decoding: bytes.map { $0 == UInt8(ascii: ":") ? UInt8(ascii: "/") : $0 }, as: UTF8.self)
    }.filter { Self.fault(of: $0) == nil }.sorted()
  }

  private static func check(_ name: String) throws(DatabaseError) {
    guard let fault = fault(of: name) else { return }
    throw DatabaseError(
      .invalidParameter, "the database name “\(name)” \(fault)",
      advice: "Use 1 to 239 of the characters a-z, 0-9, _, $, (, ), +, - and /, and start with a letter.")
  }

  private static func fault(of name: String) -> String? {
    let bytes = name.utf8
    guard let first = bytes.first else { return "is empty" }
    if bytes.count >= 240 { return "is \(bytes.count) bytes long" }
    let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
    if !letters.contains(first) { return "does not start with a letter from a to z" }
    let others = Set("0123456789_$()+-/".utf8)
    return bytes.allSatisfy { letters.contains($0) || others.contains($0) } ? nil : "has other characters"
  }
}
