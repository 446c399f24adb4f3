import LatewoodDevice
import LatewoodTerminal

@testable import LatewoodTool

/// One run of the tool in this process, with its output.
struct CapturedRun {
  let code: ExitCode
  let output: String
  let error: String

  init(_ arguments: [String]) {
    let (output, error) = (ByteOutput(), ByteOutput())
    let console = Console(StandardStreams(input: ByteInput(descriptor: 0), output: output, error: error))
    code = LatewoodCommand.run(arguments.map { Array($0.utf8) }, on: console)
    self.output = String(decoding: output.pending, as: UTF8.self)
    self.error = String(decoding: error.pending, as: UTF8.self)
  }

  static let tests = "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
  static func golden(_ name: String) -> String { "\(tests)/golden/\(name).latewood" }

  static func read(_ path: String) throws -> [UInt8] {
    let device = try FileVolume().open(path, .readOnly)
    defer { device.close() }
    var bytes = [UInt8](repeating: 0, count: Int(try device.size()))
    let count = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
    return Array(bytes.prefix(count))
  }

  static func write(_ bytes: [UInt8], to path: String) throws {
    if try FileVolume().exists(path) { try FileVolume().remove(path) }
    let device = try FileVolume().open(path, .createExclusive(permissions: 0o644))
    defer { device.close() }
    try bytes.withUnsafeBytes { try device.write($0, at: 0) }
  }
}
