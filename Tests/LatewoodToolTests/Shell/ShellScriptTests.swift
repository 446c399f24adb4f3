import LatewoodBytes
import LatewoodTerminal
import Testing

@testable import LatewoodTool

/// The shell when its input is not a terminal: lines of a file.
@Suite struct ShellScriptTests {
  /// Returns the output of the shell, both streams together, and its exit status.
  private func follow(_ lines: String, in place: Workplace, _ options: String = "") throws -> (
    output: String, status: Int32?
  ) {
    let child = try ChildProcess(
      "/bin/sh",
      arguments: [
        "-c", "printf '%s' \"$3\" | \"$1\" shell \"$2\" \(options) 2>&1", "sh", try BuiltTool.path(),
        place("db"),
        lines,
      ])
    let output = String(decoding: try child.output.readAll(), as: UTF8.self)
    return (output, try child.wait())
  }

  @Test func `lines run in order without a prompt`() throws {
    let place = try Workplace()
    let (output, status) = try follow(
      "# a remark\n\nput 'a key' \"one \\\"two\\\"\"\r\nget 'a key' --json\n  list --count", in: place)
    #expect(output == #"{"key":"a key","value":"one \"two\""}"# + "\n1\n")
    #expect(status == 0)
  }

  @Test func `the first failure ends the script with its exit code`() throws {
    let place = try Workplace()
    try place.fill()
    let (output, status) = try follow("get nothing\nput after 1\n", in: place)
    #expect(output.contains("stopped at line 1, exit code 1"))
    #expect(status == 1)
    #expect(BuiltTool.run(["get", place("db"), "after"]).code == .no)
    for (line, code) in [
      ("get 'a", 2), ("demo", 2), ("frobnicate", 2), ("import nowhere", 3), ("put a -", 2),
    ]
      as [(String, Int32)]
    {
      let (output, status) = try follow("\n\(line)\n", in: place)
      #expect(status == code, "\(line): \(output)")
      #expect(output.contains("line 2"))
    }
  }

  @Test func `with --keep-going all lines run, and the first failure sets the exit code`() throws {
    let place = try Workplace()
    try place.fill()
    let (_, status) = try follow("get nothing\nput after 1\nget 'open\n", in: place, "--keep-going")
    #expect(status == 1)
    #expect(BuiltTool.run(["get", place("db"), "after"]).output == "1")
  }

  @Test func `statements and selectors run among the commands, over several lines`() throws {
    let place = try Workplace()
    let (output, status) = try follow(
      "doc put a '{\"n\":1}' --json\nSELECT n\n  FROM _\nWHERE n = 1; SELECT 'a;b' AS x;\n{\"n\":\n1}\n",
      in: place)
    let lines = output.split(separator: "\n").dropFirst()
    #expect(
      lines.prefix(2) == [#"{"n":1}"#, #"{"x":"a;b"}"#] && lines.last?.contains(#""n":1"#) == true,
      "\(output)")
    #expect(status == 0)
    let (wrong, code) = try follow("\nSELECT\nn FORM _;\n", in: place)
    #expect(code == 6 && wrong.contains("stopped at line 2"), "\(wrong)")
    let (open, usage) = try follow("doc list\nSELECT n\nFROM _\n", in: place)
    #expect(usage == 2 && open.contains("line 2: the statement that begins here does not end"), "\(open)")
  }

  @Test func `with --keep-going the next statement of a line runs as well`() throws {
    let place = try Workplace()
    let text = "doc put a '{}'\nSELECT FROM;SELECT 2 AS two;\n"
    let (output, status) = try follow(text, in: place, "--keep-going")
    #expect(output.contains(#"{"two":2}"#), "\(output)")
    #expect(status == 6)
    #expect(try !follow(text, in: place).output.contains("two"))
  }

  @Test func `a statement has the number of the line where it begins`() throws {
    let place = try Workplace()
    let (output, status) = try follow("doc put a '{}'\nSELECT\n1\n; SELECT\nFROM;\n", in: place)
    #expect(status == 6 && output.contains("stopped at line 4"), "\(output)")
    let (open, usage) = try follow("\nSELECT\n1; SELECT 2\n\n", in: place)
    #expect(usage == 2 && open.contains("line 3: the statement that begins here"), "\(open)")
  }

  @Test(arguments: ["", "--keep-going"])
  func `a statement that does not end is refused before it fills the memory`(option: String) throws {
    let place = try Workplace()
    let line = String(repeating: "x", count: 62) + "\n"
    let text = "\nSELECT '" + String(repeating: line, count: 4000) + "put after 1\n"
    try CapturedRun.write(Array(text.utf8), to: place("script"))
    let child = try ChildProcess(
      "/bin/sh",
      arguments: [
        "-c", "\"$1\" shell \"$2\" \(option) 2>&1 < \"$3\"", "sh", try BuiltTool.path(), place("db"),
        place("script"),
      ])
    let output = String(decoding: try child.output.readAll(), as: UTF8.self)
    #expect(try child.wait() == 2)
    #expect(output.contains("line 2: the statement is longer than 128 KiB"), "\(output)")
    #expect(BuiltTool.run(["get", place("db"), "after"]).code != .success)
  }

  @Test func `exit ends the shell, and later lines do not run`() throws {
    let place = try Workplace()
    let (output, status) = try follow("put a 1\nexit\nput b 2\n", in: place)
    #expect(output.isEmpty && status == 0)
    #expect(BuiltTool.run(["get", place("db"), "b"]).code == .no)
  }
}
