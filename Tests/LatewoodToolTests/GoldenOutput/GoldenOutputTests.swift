import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import LatewoodTerminal
import Testing

@testable import LatewoodTool

/// Every command prints the expected text for files that are sound, empty, in conflict, or damaged
/// in one of twelve ways: Tests/golden-output/STATE/COMMAND.txt.
///
/// `LATEWOOD_REGENERATE_OUTPUT=1 swift test --filter GoldenOutputTests` rewrites all of it, to be
/// read before it is committed.
@Suite struct GoldenOutputTests {
  private static let isRegenerating = CurrentProcess.environmentVariable("LATEWOOD_REGENERATE_OUTPUT") == "1"
  private static let directory = Repository.path("Tests/golden-output")

  @Test func `the generated files have the same bytes in each run`() throws {
    for source in GoldenSource.allCases { #expect(try source.bytes() == source.bytes()) }
  }

  @Test(arguments: GoldenState.allCases) func `every command prints its recorded output`(state: GoldenState)
    throws
  {
    let place = try Workplace.inMemory()
    for command in GoldenCommand.all {
      let run = try GoldenRun(command, state, in: place)
      var text = ""
      for line in command.lines { text += try run.outputs(of: line) }
      let path = "\(Self.directory)/\(state.rawValue)/\(command.name).txt"
      if Self.isRegenerating {
        let folder = "\(Self.directory)/\(state.rawValue)"
        if try !FileVolume().exists(folder) { try Directories.make(folder) }
        try Repository.write(Array(text.utf8), to: path)
      }
      let kept = String(decoding: try Repository.read(FileVolume(), path), as: UTF8.self)
      #expect(kept == text, "\(state) \(command.name)")
    }
  }

  @Test func `every command has recorded output, and there are no other files`() throws {
    let tried = Set(GoldenCommand.all.flatMap { $0.lines.map { $0[0] } })
    for command in CommandSamples.commands { #expect(tried.contains(command.name), "\(command.name)") }
    for state in GoldenState.allCases {
      let names = try Directories.names(in: "\(Self.directory)/\(state.rawValue)").sorted()
      #expect(names == GoldenCommand.all.map { "\($0.name).txt" }.sorted(), "\(state)")
    }
  }
}

/// One command on one file.
private struct GoldenRun {
  let command: GoldenCommand
  let place: Workplace
  private let file: [UInt8]
  private let old: [UInt8]

  init(_ command: GoldenCommand, _ state: GoldenState, in place: Workplace) throws {
    (self.command, self.place) = (command, place)
    file = try state.bytes(of: command.source)
    old = try GoldenSource.bytes(of: command.source)
  }

  /// Returns the output for people and for programs. Also checks that the output for a terminal
  /// fits.
  func outputs(of line: [String]) throws -> String {
    let shown = "$ latewood " + line.map { $0.contains(" ") ? "'\($0)'" : $0 }.joined(separator: " ")
    let terminal = try run(line, isTerminal: true)
    for row in Screen(Array(terminal.output.utf8)).rows + Screen(Array(terminal.error.utf8)).rows
    where !command.printsData {
      #expect(DisplayWidth.of(row) <= 80, "\(shown): \(row)")
    }
    let text = [line, line + ["--json"]]
    return try text.map { line in
      let result = try run(line, isTerminal: false)
      let isJSON = line.last == "--json"
      return "\(shown)\(isJSON ? " --json" : "")\n\(normal(result.output, line))"
        + (result.error.isEmpty ? "" : "--- standard error\n\(normal(result.error, line))")
        + "--- exit code \(result.code.rawValue)\n\n"
    }.joined()
  }

  private func run(_ line: [String], isTerminal: Bool) throws -> (
    code: ExitCode, output: String, error: String
  ) {
    for name in try Directories.names(in: place.path) { try Directories.removeTree(place(name)) }
    try Repository.write(file, to: place("my.latewood"))
    try Repository.write(old, to: place("old.latewood"))
    try Repository.write(Array(#"[{"id":"a","n":1},{"id":"b"}]"#.utf8), to: place("text.json"))
    let paths = [
      "FILE": place("my.latewood"), "OLD": place("old.latewood"), "TEXT": place("text.json"),
      "NEW": place("new.latewood"),
    ]
    let console = Console(
      input: ByteInput(descriptor: -1), output: Output(), error: Output(), isTerminal: isTerminal)
    let code = LatewoodCommand.run(line.map { Array((paths[$0] ?? $0).utf8) }, on: console)
    return (
      code, String(decoding: console.output.take(), as: UTF8.self),
      String(decoding: console.error.take(), as: UTF8.self)
    )
  }

  /// Replaces parts that depend on the directory, the clock and the file system. Completes an
  /// unfinished line.
  private func normal(_ text: String, _ line: [String]) -> String {
    var text = text.replacing(place.path + "/", with: "")
    text.replace(#/(?m)^file  .*$/#, with: "file              my.latewood")
    text.replace(#/"(allocatedBytes(?:Before|After)?|compactionSaves|microseconds|nanoseconds)":\d+/#) {
      "\"\($0.output.1)\":0"
    }
    text.replace(#/, on disk .*/#, with: ", on disk …")
    text.replace(#/\([^()]* on the disk\)/#, with: "(… on the disk)")
    text.replace(#/\S+ of the disk space/#, with: "… of the disk space")
    text.replace(#/(?m)^on disk  .*$/#, with: "on disk           …")
    text.replace(#/(?m)^compaction  .*$/#, with: "compaction        …")
    text.replace(#/(?m)^  on the disk, as du shows it  .*$/#, with: "  on the disk, as du shows it  …")
    text.replace(#/(?m)^  a compaction, on the disk  .*, to /#, with: "  a compaction, on the disk  …, to ")
    text.replace(#/\bin [\d.,]+ (ns|µs|ms|s)\b/#, with: "in … ms")
    if line[0] == "stats" { text.replace(#/"time":"[^"]*"/#, with: #""time":"…""#) }
    return text.isEmpty || text.hasSuffix("\n") ? text : text + "\n"
  }
}
