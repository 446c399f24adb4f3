import LatewoodBytes
import LatewoodDevice

/// The files in Tests/golden, and files in memory.
enum GoldenFiles {
  static let root: String = {
    var parts = #filePath.split(separator: "/").dropLast(2)
    parts.append("golden")
    return "/" + parts.joined(separator: "/")
  }()

  static let names: [String] = {
    do {
      return try Directories.names(in: root).filter { $0.hasSuffix(".latewood") }.map {
        String($0.dropLast(9))
      }
      .sorted()
    } catch {
      return []
    }
  }()

  static func path(_ name: String) -> String { "\(root)/\(name).latewood" }

  static func bytes(_ name: String) throws -> [UInt8] { try bytes(at: path(name), on: FileVolume()) }

  static func bytes(at path: String, on volume: any Volume) throws -> [UInt8] {
    let device = try volume.open(path, .readOnly)
    defer { device.close() }
    var bytes = [UInt8](repeating: 0, count: Int(try device.size()))
    let count = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
    return Array(bytes.prefix(count))
  }

  /// Returns a volume in memory with one file, `file`.
  static func volume(_ bytes: [UInt8]) throws -> MemoryVolume {
    let volume = MemoryVolume()
    let device = try volume.open("file", .createExclusive(permissions: 0o600))
    try bytes.withUnsafeBytes { try device.write($0, at: 0) }
    device.close()
    return volume
  }
}
