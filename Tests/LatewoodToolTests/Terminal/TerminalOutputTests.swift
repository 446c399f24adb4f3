import LatewoodSimulation
import LatewoodTerminal
import Testing

@testable import LatewoodTool

/// The look of commands on a terminal.
@Suite struct TerminalOutputTests {
  /// Prepares a database whose names, keys and values are wider than any terminal.
  private func prepared(_ place: Workplace) throws -> CommandSamples {
    let long = String(repeating: "long名", count: 60)
    try place.fill()
    for (keyspace, key, value) in [(long, "k", "v"), ("users", long, "v"), ("default", "k", long)] {
      #expect(BuiltTool.run(["put", place("db"), key, value, "--keyspace", keyspace]).code == .success)
    }
    try Repository.write(Array(#"{"title":"\#(long)"}"#.utf8), to: place("text.json"))
    #expect(
      BuiltTool.run(
        [
          "import", place("films"), place("text.json"), "--documents", "--collection",
          "films\(String(repeating: "long", count: 50))",
        ]
      ).code == .success)
    #expect(BuiltTool.run(["import", place("films"), place("text.json"), "--documents"]).code == .success)
    var number = 0
    return CommandSamples(
      database: place("db"), otherDatabase: place("films"), source: place("text.json"),
      newPath: {
        number += 1
        return place("new\(number)")
      }, key: "k")
  }

  /// Returns the screen after a command has run on a terminal.
  private func screen(_ line: [String], columns: Int, _ environment: [String: String?] = [:]) throws -> Screen
  {
    let session = try TerminalSession(line, columns: columns, environment: environment)
    _ = try session.wait()
    return session.all
  }

  @Test(arguments: [60, 80, 200]) func `no command prints lines wider than the terminal`(columns: Int) throws
  {
    let place = try Workplace()
    let samples = try prepared(place)
    for command in CommandSamples.commands {
      for base in samples.plain(command) {
        // Both a file of entries and one of documents.
        for line in [base, base.map { $0 == place("db") ? place("films") : $0 }] {
          // The output of these is data, and must be complete.
          guard !["get", "export", "find", "query"].contains(command.name), line.prefix(2) != ["doc", "get"]
          else {
            continue
          }
          let screen = try screen(line, columns: columns)
          #expect(screen.unknown.isEmpty, "\(line)")
          // Lines to copy are complete, too: their length depends on the path of the file.
          for row in screen.rows where !row.hasPrefix("    latewood ") {
            #expect(DisplayWidth.of(row) <= columns, "\(line.joined(separator: " ")): \(row)")
          }
        }
      }
    }
  }

  @Test(arguments: [60, 80]) func `help fits the terminal, except lines meant to be copied`(columns: Int)
    throws
  {
    for command in [nil] + CommandTable.commands.map({ $0 }) {
      let literal =
        (command?.json ?? []) + (command?.examples.map(\.line) ?? [])
        + (command.map { [HelpText.usage(of: $0)] } ?? [])
      for row in try screen(["help"] + (command.map { [$0.name] } ?? []), columns: columns).rows {
        #expect(DisplayWidth.of(row) <= columns || literal.contains { row.hasSuffix($0) }, "\(row)")
      }
    }
  }

  @Test func `output is coloured on terminals or on request`() throws {
    let place = try Workplace()
    try place.fill()
    #expect(try screen(["info", place("db")], columns: 80).hasColour)
    #expect(try screen(["info", place("nowhere")], columns: 80).hasColour)
    for environment in [["NO_COLOR": "1"], ["TERM": "dumb"]] as [[String: String?]] {
      for line in [
        ["info", place("db")], ["info", place("nowhere")], ["help", "get"], ["verify", place("db")],
      ] {
        #expect(try !screen(line, columns: 80, environment).hasColour, "\(line) \(environment)")
      }
    }
    // NO_COLOR only counts if it is not empty.
    #expect(try screen(["info", place("db")], columns: 80, ["NO_COLOR": ""]).hasColour)
    let (piped, _) = try InstalledProgram.shell(
      "\"$1\" info \"$2\"; \"$1\" info nowhere; \"$1\" help", [try BuiltTool.path(), place("db")])
    #expect(!piped.contains("\u{1B}") && piped.contains("keyspaces"))
  }

  @Test func `documents are indented and coloured only on a terminal`() throws {
    let place = try Workplace()
    #expect(BuiltTool.run(["doc", "put", place("films"), "a", #"{"n":[1]}"#]).code == .success)
    let get = ["doc", "get", place("films"), "a"]
    let shown = try screen(get, columns: 80)
    #expect(shown.hasColour && shown.rows.contains(#"  "n": ["#))
    let plain = try screen(get, columns: 80, ["NO_COLOR": "1"])
    #expect(!plain.hasColour && plain.rows == shown.rows)
    let compact = try screen(get + ["--compact"], columns: 80)
    #expect(!compact.hasColour && compact.rows.first == #"{"n":[1]}"#)
    for (options, output) in [("", "{\"n\":[1]}\n"), ("--pretty", "{\n  \"n\": [\n    1\n  ]\n}\n")] {
      let (piped, _) = try InstalledProgram.shell(
        "\"$1\" doc get \"$2\" a \(options)", [try BuiltTool.path(), place("films")])
      #expect(piped == output)
    }
  }

  @Test func `the progress line fits, is redrawn, and disappears`() throws {
    for width in [40, 80, 200] {
      let console = Console(
        input: ByteInput(descriptor: -1), output: Output(), error: Output(), isTerminal: true, width: width)
      let progress = Progress(String(repeating: "Verifying", count: 30), on: console, delay: 0)
      var written: [UInt8] = []
      try progress.update(1, of: 2, unit: Quantity.bytes)
      written += console.error.take()
      #expect(Screen(written).rows.count == 1 && DisplayWidth.of(Screen(written).rows[0]) < width)
      #expect(Screen(written).rows[0].hasPrefix("Verifying"))
      try progress.finish()
      written += console.error.take()
      #expect(Screen(written).rows == [""])
      try progress.finish()
      #expect(console.error.take().isEmpty)
    }
  }

  @Test func `no progress is shown in a pipe`() throws {
    let console = Console(input: ByteInput(descriptor: -1), output: Output(), error: Output())
    let progress = Progress("Verifying", on: console, delay: 0)
    try progress.update(1, of: 2, unit: Quantity.bytes)
    try progress.finish()
    #expect(console.error.take().isEmpty)
  }

  @Test func `a long import shows its progress, and at the end only its result`() throws {
    let place = try Workplace()
    let session = try TerminalSession(["import", place("db"), "-"], environment: ["NO_COLOR": "1"])
    try session.waitUntil("Importing", repeating: { try session.type("{\"a\":1}\n") })
    try session.type("\u{04}\u{04}")
    #expect(try session.wait() == 0)
    #expect(session.screen.rows.contains { $0.hasPrefix("Imported") })
    // It was shown and has been erased.
    #expect(!session.all.rows.contains { $0.contains("Importing") })
  }
}
