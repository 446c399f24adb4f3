import LatewoodBytes
import LatewoodSimulation
import Testing

@testable import LatewoodTool

@Suite struct ArgumentsTests {
  private func parse(_ arguments: String..., as command: CommandDescription = .list) throws
    -> Arguments
  {
    try Arguments(arguments.map { Array($0.utf8) }, for: command)
  }

  @Test func `operands and options are distinguished`() throws {
    let parsed = try parse("db", "--from", "a", "--to=b", "--reverse", "--limit", "5")
    #expect(try parsed.text(0) == "db")
    #expect(parsed.bytes(of: .from) == Array("a".utf8))
    #expect(parsed.bytes(of: .to) == Array("b".utf8))
    #expect(parsed.has(.reverse) && !parsed.has(.count))
    #expect(try parsed.number(of: .limit) == 5)
  }

  @Test func `options may stand before operands`() throws {
    #expect(try parse("--limit", "1", "db") == parse("db", "--limit=1"))
  }

  @Test func `the value of an option may look like an option`() throws {
    #expect(try parse("db", "--from", "--to").bytes(of: .from) == Array("--to".utf8))
    #expect(try parse("db", "--from=--to").bytes(of: .from) == Array("--to".utf8))
    #expect(try parse("db", "--from=").bytes(of: .from) == [])
  }

  @Test func `two dashes end the options`() throws {
    let parsed = try parse("db", "--", "--from", as: .get)
    #expect(parsed.operand(1) == Array("--from".utf8))
    #expect(try parse("db", "-", as: .get).operand(1) == [UInt8(ascii: "-")])
  }

  @Test func `keys need not be UTF-8, but paths must`() throws {
    let parsed = try Arguments([[0xFF], [0xFE, 0x80]], for: .get)
    #expect(try parsed.key(1) == [0xFE, 0x80])
    #expect(throws: Failure.self) { try parsed.text(0) }
  }

  @Test(arguments: [
    [], ["db", "extra"], ["db", "--nope"], ["db", "--limit"], ["db", "--reverse=1"],
    ["db", "--limit", "1", "--limit", "2"],
    ["db", "-x"], ["db", "---"], ["db", "--="],
  ]) func `invalid options and operands are refused`(arguments: [String]) {
    do {
      _ = try Arguments(arguments.map { Array($0.utf8) }, for: .list)
      Issue.record("accepted \(arguments)")
    } catch {
      let failure = Failure(error)
      #expect(failure.exitCode == .usage && !failure.message.isEmpty)
    }
  }

  @Test(arguments: ["", "x", "-1", "1.5", "9223372036854775808", "99999999999999999999"])
  func `numbers must be whole and not negative`(text: String) throws {
    let parsed = try Arguments(["db", "--limit", text].map { Array($0.utf8) }, for: .list)
    #expect(throws: Failure.self) { try parsed.number(of: .limit) }
  }

  @Test func `an option with choices accepts only these`() {
    for format in ["lines", "csv", "couchdb"] {
      #expect(throws: Never.self) { try parse("db", "-", "--format", format, as: .importing) }
    }
    #expect(throws: Failure.self) { try parse("db", "-", "--format", "xml", as: .importing) }
  }

  @Test func `help needs no operands`() throws {
    #expect(try parse("--help", as: .get).has(.help))
    #expect(try parse("-h", as: .get).has(.help))
  }

  @Test func `any bytes are either accepted or refused, and never trap`() {
    var random = SeededRandom(seed: SeededRandom.seed())
    let words = [
      "--", "-", "--limit", "--from", "--json", "=", "\u{0}", "--help", "db", "0x", "--limit=", "ü",
    ]
    for _ in 0..<Effort.count(5_000, low: 2_000) {
      let arguments = (0..<random.below(6)).map { _ in
        Array(random.pick(words).utf8) + (random.oneIn(2) ? random.bytes(1) : [])
      }
      for command in CommandTable.commands {
        do { _ = try Arguments(arguments, for: command) } catch {
          #expect(Failure(error).exitCode == .usage, "\(random.replay)")
        }
      }
    }
  }
}

@Suite struct CommandTableTests {
  @Test func `help fits in 80 columns and is complete`() {
    for command in CommandTable.commands {
      let text = HelpText.explanation(of: command, style: .plain)
      for line in text.split(separator: "\n") { #expect(DisplayWidth.of(line) <= 80, "\(line)") }
      for option in command.allOptions { #expect(text.contains(option.name)) }
      #expect(command.isHidden || !command.examples.isEmpty)
    }
    let overview = HelpText.overview(of: CommandTable.groups, style: .plain)
    for line in overview.split(separator: "\n") { #expect(DisplayWidth.of(line) <= 80, "\(line)") }
    for code in ExitCode.allCases { #expect(overview.contains("\(code.rawValue)")) }
    #expect(!overview.contains("demo-writer"))
  }

  @Test func `names are unique, and all examples parse`() throws {
    #expect(Set(CommandTable.commands.map(\.name)).count == CommandTable.commands.count)
    for command in CommandTable.commands {
      #expect(Set(command.allOptions.map(\.name)).count == command.allOptions.count)
      for example in command.examples {
        // The part before a pipe, a redirection or the next command; also a part after a pipe if it
        // runs this tool.
        let parts = try example.line.split(separator: "|").map { try ShellWords.split(String($0)) }
        for part in parts where part.first == "latewood" {
          let line = part.prefix { !["<", ">", "&&"].contains($0) }
          var words = CommandTable.withoutInspect(Array(line.dropFirst())) { $0 }
          // The path of a database opens the shell.
          if CommandTable.command(named: words[0]) == nil { words.insert("shell", at: 0) }
          #expect(throws: Never.self, "\(example.line)") {
            try Arguments(
              words.dropFirst().map { Array($0.utf8) }, for: #require(CommandTable.command(named: words[0])))
          }
        }
      }
    }
  }

  @Test func `a misspelled word gets the right one as a suggestion`() {
    let names = CommandTable.commands.map(\.name)
    #expect(Suggestion.best(for: "lsit", among: names) == "list")
    #expect(Suggestion.best(for: "verfy", among: names) == "verify")
    #expect(Suggestion.best(for: "exprot", among: names) == "export")
    #expect(Suggestion.best(for: "frobnicate", among: names) == nil)
    #expect(Suggestion.best(for: "", among: names) == nil)
    #expect(Suggestion.best(for: String(repeating: "x", count: 100_000), among: names) == nil)
  }
}
