import LatewoodDevice
import Testing

@testable import LatewoodTool

/// A process limit causes an error that names the limit, and never ends the process.
@Suite struct LimitTests {
  /// Runs the tool under a limit that a shell sets; the status is nil if a signal ended it.
  private func run(_ limit: String, _ arguments: [String]) throws -> (output: String, status: Int32?) {
    try InstalledProgram.shell(
      "export SWIFT_BACKTRACE=enable=no; \(limit) || exit 99; exec \"$@\"",
      [try BuiltTool.path()] + arguments)
  }

  @Test func `a commit beyond the process's file size limit is refused`() throws {
    let place = try Workplace()
    #expect(BuiltTool.run(["put", place("db"), "small", "value"]).code == .success)
    // The unit is 512 bytes.
    let value = String(repeating: "v", count: 100_000)
    let (output, status) = try run("ulimit -f 100", ["put", place("db"), "large", value])
    #expect(status == ExitCode.inputOutput.rawValue, "\(output)")
    #expect(output.contains("ulimit -f"), "\(output)")
    #expect(BuiltTool.run(["put", place("db"), "large", value]).code == .success)
    #expect(BuiltTool.run(["list", place("db"), "--count"]).output == "2\n")
  }

  /// If mappings are refused for lack of address space, buffered reading has none either: see
  /// `Store.Reading`.
  @Test(arguments: ["automatic", "buffered"])
  func `a file beyond the process's address space is an error, and one that fits is read`(
    _ reading: String
  ) throws {
    let place = try Workplace()
    #expect(BuiltTool.run(["put", place("db"), "small", "value"]).code == .success)
    let limit = "export LATEWOOD_READING=\(reading); ulimit -v 2000000"
    let (output, status) = try run(limit, ["get", place("db"), "small"])
    #expect(status == 0 && output.contains("value"), "\(output)")
    let (compacted, ending) = try run(limit, ["compact", place("db")])
    #expect(ending == 0, "\(compacted)")
    // The file becomes longer; after the log there is nothing but zeros.
    let device = try FileVolume().open(place("db"), .readWrite)
    let size = try device.size()
    try [0].withUnsafeBytes { try device.write($0, at: 4 << 30) }
    device.close()
    let (message, failure) = try run(limit, ["get", place("db"), "small"])
    #expect(failure == ExitCode.inputOutput.rawValue, "\(message)")
    #expect(message.contains("limit"), "\(message)")
    _ = try InstalledProgram.shell("truncate -s \(size) \"$1\"", [place("db")])
    #expect(BuiltTool.run(["get", place("db"), "small"]).output.contains("value"))
  }

  @Test func `a value that is too long for the process's memory is an error`() throws {
    let place = try Workplace()
    // A string of 400 MB.
    let (output, status) = try InstalledProgram.shell(
      "export SWIFT_BACKTRACE=enable=no; ulimit -v 250000 || exit 99; "
        + "(printf '\"'; head -c 400000000 /dev/zero | tr '\\0' a) | \"$@\"",
      [try BuiltTool.path(), "import", place("db"), "-"])
    #expect(status == ExitCode.badInput.rawValue, "\(output)")
    #expect(output.contains("of memory") && output.contains("Raise the limit"), "\(output)")
    #expect(try Directories.names(in: place.path).filter { !$0.hasSuffix(".lock") } == [])
  }

  @Test func `a document that is too large for the process's memory is an error`() throws {
    let place = try Workplace()
    // Short values take much more memory than their text.
    let text = "{\"a\":[1" + String(repeating: ",1", count: 3_000_000) + "]}"
    let file = try FileVolume().open(place("large.json"), .createExclusive(permissions: 0o600))
    try Array(text.utf8).withUnsafeBytes { try file.write($0, at: 0) }
    file.close()
    let (output, status) = try run(
      "ulimit -v 200000", ["doc", "put", place("db"), "a", "--file", place("large.json")])
    #expect(status == ExitCode.badInput.rawValue, "\(output)")
    #expect(output.contains("of memory") && output.contains("Raise the limit"), "\(output)")
  }

  @Test func `a database is not created if the size limit is below its first blocks`() throws {
    let place = try Workplace()
    let (output, status) = try run("ulimit -f 8", ["put", place("db"), "small", "value"])
    #expect(status == ExitCode.inputOutput.rawValue, "\(output)")
    #expect(try Directories.names(in: place.path).filter { !$0.hasSuffix(".lock") } == [])
  }

  @Test func `with few file descriptors the tool works, or an error names the limit`() throws {
    for count in 5...14 {
      let place = try Workplace()
      let (output, status) = try run("ulimit -n \(count)", ["put", place("db"), "key", "value"])
      #expect(status == 0 || status == ExitCode.inputOutput.rawValue, "\(count): \(output)")
      if status != 0 { #expect(output.contains("ulimit -n"), "\(count): \(output)") }
      #expect(BuiltTool.run(["put", place("db"), "other", "value"]).code == .success)
      let expected = status == 0 ? "2\n" : "1\n"
      #expect(BuiltTool.run(["list", place("db"), "--count"]).output == expected, "\(count)")
    }
  }
}
