import LatewoodDevice

/// A text file in the folder of the tests.
enum TextFile {
  /// Returns the lines of a file in the folder of the calling source file.
  static func lines(_ name: String, beside file: StaticString = #filePath) throws -> [Substring] {
    let directory = "\(file)".split(separator: "/", omittingEmptySubsequences: false).dropLast()
      .joined(separator: "/")
    let device = try FileVolume().open("\(directory)/\(name)", .readOnly)
    defer { device.close() }
    var bytes = [UInt8](repeating: 0, count: Int(try device.size()))
    _ = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
  }
}
