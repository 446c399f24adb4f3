import LatewoodBytes
import LatewoodDevice
import LatewoodStore
import LatewoodTestSupport
import Testing

/// A directory of the real file system for one test, removed after it.
final class StoreDirectory: Sendable {
  let path: String
  /// The path of a database in it.
  var store: String { "\(path)/db.latewood" }

  init() throws { path = try Directories.makeTemporary("latewood-store") }

  deinit {
    do {
      try Directories.removeTree(path)
    } catch {
      Issue.record(error)
    }
  }

  /// The bytes of the database and, if there is one, of the file that is replacing it: the greater
  /// of the apparent sizes, and the sum of the bytes on the disk.
  func occupied() throws -> (apparent: UInt64, allocated: UInt64) {
    var result: (apparent: UInt64, allocated: UInt64) = (0, 0)
    for name in try Directories.names(in: path) where !name.hasSuffix(".lock") {
      do throws(StorageError) {
        let device = try FileVolume().open("\(path)/\(name)", .readOnly)
        defer { device.close() }
        result.apparent = max(result.apparent, try device.size())
        result.allocated += try device.allocatedSize()
      } catch {
        // The file may have been renamed or removed in the meantime.
        guard error.kind == .notFound else { throw error }
      }
    }
    return result
  }

  /// The names of the files in the directory, other than the database and its lock.
  func others() throws -> [String] {
    try Directories.names(in: path).filter { !$0.hasSuffix(".lock") && $0 != "db.latewood" }
  }

  /// Creates a file with these bytes, and returns its path.
  func write(_ bytes: [UInt8], to name: String) throws -> String {
    let path = "\(path)/\(name)"
    let device = try FileVolume().open(path, .createExclusive(permissions: 0o600))
    defer { device.close() }
    try bytes.withUnsafeBytes { try device.write($0, at: 0) }
    return path
  }

  /// The bytes of a file.
  static func bytes(of path: String) throws -> [UInt8] {
    let device = try FileVolume().open(path, .readOnly)
    defer { device.close() }
    var bytes = [UInt8](repeating: 0, count: Int(try device.size()))
    _ = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
    return bytes
  }

  /// Creates a file with the bytes that another process would find if this one ended now.
  func copy(of path: String, as name: String) throws -> String { try write(Self.bytes(of: path), to: name) }
}

/// Expects an error of the store with this code and a message; see `LatewoodTestSupport`.
@discardableResult
func refusal(
  _ code: StoreError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) -> StoreError? {
  let error = refusal(
    code, at: \StoreError.code, texts: [\.message], sourceLocation: sourceLocation, body)
  if let error {
    #expect(error.description.contains(error.message), sourceLocation: sourceLocation)
  }
  return error
}

extension Error {
  /// The code of an error of the store; nil if it is another error.
  var storeCode: StoreError.Code? { (self as? StoreError)?.code }
}
