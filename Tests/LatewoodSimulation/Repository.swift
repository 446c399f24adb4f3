import LatewoodBytes
import LatewoodDevice

/// The files of the repository that this test was compiled from.
package enum Repository {
  package static let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
    .joined(
      separator: "/")

  package static func path(_ name: String) -> String { "\(root)/\(name)" }

  package static func read(_ name: String) throws -> [UInt8] { try read(FileVolume(), path(name)) }

  package static func read(_ volume: any Volume, _ path: String) throws -> [UInt8] {
    let device = try volume.open(path, .readOnly)
    defer { device.close() }
    var bytes = [UInt8](repeating: 0, count: Int(try device.size()))
    let count = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
    return Array(bytes[..<count])
  }

  /// Replaces the file, if there is one.
  package static func write(_ bytes: [UInt8], to path: String, on volume: any Volume = FileVolume()) throws {
    if try volume.exists(path) { try volume.remove(path) }
    let device = try volume.open(path, .createExclusive(permissions: 0o644))
    defer { device.close() }
    try bytes.withUnsafeBytes { try device.write($0, at: 0) }
  }
}
