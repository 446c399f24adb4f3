import LatewoodDevice
import Testing

@testable import LatewoodTool

/// Limits of a process: an error that says which, and never the end of the process.
@Suite struct LimitTests {
  /// Runs the tool under a limit, as a shell sets it; a status of nil: a signal ended it.
  private func run(_ limit: String, _ arguments: [String]) throws -> (output: String, status: Int32?) {
    try InstalledProgram.shell(
      "export SWIFT_BACKTRACE=enable=no; \(limit) || exit 99; exec \"$@\"",
      [try BuiltTool.path()] + arguments)
  }

  @Test func `past the length that the process may give to a file a commit is refused`() throws {
    let place = try Workplace()
    #expect(BuiltTool.run(["put", place("db"), "small", "value"]).code == .success)
    // 512 bytes to a block.
    let value = String(repeating: "v", count: 100_000)
    let (output, status) = try run("ulimit -f 100", ["put", place("db"), "large", value])
    #expect(status == ExitCode.inputOutput.rawValue, "\(output)")
    #expect(output.contains("ulimit -f"), "\(output)")
    #expect(BuiltTool.run(["put", place("db"), "large", value]).code == .success)
    #expect(BuiltTool.run(["list", place("db"), "--count"]).output == "2\n")
  }

  @Test func `a new database that may not be as long as its first blocks is not made`() throws {
    let place = try Workplace()
    let (output, status) = try run("ulimit -f 8", ["put", place("db"), "small", "value"])
    #expect(status == ExitCode.inputOutput.rawValue, "\(output)")
    #expect(try Directories.names(in: place.path).filter { !$0.hasSuffix(".lock") } == [])
  }

  @Test func `where few files may be open it works, or an error says so`() throws {
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
