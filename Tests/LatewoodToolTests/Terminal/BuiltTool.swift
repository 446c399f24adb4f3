import LatewoodBytes
import LatewoodDevice
import LatewoodTerminal
import Testing

@testable import LatewoodTool

#if canImport(Darwin)
  import Foundation
#endif

/// The tool that was built together with the tests, as a program.
enum BuiltTool {
  /// Returns its path: next to the tests, or in `LATEWOOD_TOOL`.
  static func path() throws -> String {
    if let path = CurrentProcess.environmentVariable("LATEWOOD_TOOL") { return path }
    #if canImport(Darwin)
      // There a program of Xcode runs the bundle of tests, which is next to the tool.
      let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
      let own = try #require(bundle, "no bundle of tests; set LATEWOOD_TOOL to the tool").bundlePath
    #else
      let own = try CurrentProcess.executablePath()
    #endif
    let path =
      own.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
      + "/latewood"
    try #require(try FileVolume().exists(path), "no tool at \(path); set LATEWOOD_TOOL to its path")
    return path
  }

  /// Runs it inside this process, without a terminal; returns its exit code and output.
  static func run(_ arguments: [String], input: ByteInput = ByteInput(descriptor: -1)) -> (
    code: ExitCode, output: String, error: String
  ) {
    let console = Console(input: input, output: Output(), error: Output())
    let code = LatewoodCommand.run(arguments.map { Array($0.utf8) }, on: console)
    return (
      code, String(decoding: console.output.take(), as: UTF8.self),
      String(decoding: console.error.take(), as: UTF8.self)
    )
  }
}

/// A directory for one test, which is removed after it.
final class Workplace {
  let path: String

  init() throws { path = try Directories.makeTemporary("latewood-tool-test") }

  private init(path: String) { self.path = path }

  /// Returns a directory on a file system in memory, if the system has one: for tests that would
  /// otherwise spend most of their time waiting for syncs.
  static func inMemory() throws -> Workplace {
    guard Directories.isDirectory("/dev/shm") else { return try Workplace() }
    let path = "/dev/shm/latewood-tool-test-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
    try Directories.make(path)
    return Workplace(path: path)
  }

  deinit {
    do { try Directories.removeTree(path) } catch { Issue.record(error) }
  }

  func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

  /// Creates a small database with keyspaces of some entries, and one of documents.
  func fill() throws {
    for (keyspace, key, value) in [
      ("default", "greeting", "hello"), ("default", "ключ", "значение"), ("users", "u1", "Ada"),
      ("users", "u2", "名前"), ("user groups", "g", "1"),
    ] {
      try #require(BuiltTool.run(["put", self("db"), key, value, "--keyspace", keyspace]).code == .success)
    }
  }
}
