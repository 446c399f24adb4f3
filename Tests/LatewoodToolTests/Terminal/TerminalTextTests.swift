import LatewoodDevice
import LatewoodFleece
import LatewoodSimulation
import LatewoodTerminal
import Testing

@testable import LatewoodTool

/// Characters of files and arguments that a terminal would obey, or that would mislead its reader.
@Suite struct TerminalTextTests {
  /// A right-to-left override, an escape sequence that clears the screen, a bell, C1 controls, and
  /// invisible characters.
  private static let hostile = "a\u{202E}b\u{1B}[2J\u{7}\u{9B}31m\u{2066}\u{200B}\u{FEFF}\u{7F}z"

  private static func unsafe(_ bytes: [UInt8]) -> [Unicode.Scalar] {
    String(decoding: bytes, as: UTF8.self).unicodeScalars.filter { TerminalText.isEscaped($0) }
  }

  /// Runs a command as on a terminal.
  private func shown(_ words: [String]) -> (output: [UInt8], error: [UInt8]) {
    let console = Console(
      input: ByteInput(descriptor: -1), output: Output(), error: Output(), isTerminal: true)
    _ = LatewoodCommand.run(words.map { Array($0.utf8) }, on: console)
    return (console.output.take(), console.error.take())
  }

  @Test func `each becomes an escape of JSON, and other text stays as it is`() {
    for (text, shown) in [
      ("plain", "plain"), ("two\nlines\tand a tab\r\n", "two\nlines\tand a tab\r\n"),
      ("\u{1B}[2J", "\\u001b[2J"),
      ("\u{202E}x", "\\u202ex"), ("\u{9B}", "\\u009b"), ("\r", "\\u000d"), ("a\rb", "a\\u000db"),
      ("\u{E0041}", "\\udb40\\udc41"), ("\u{2028}", "\\u2028"),
      ("naïve 日本 \u{1F469}\u{200D}\u{1F52C}", "naïve 日本 \u{1F469}\u{200D}\u{1F52C}"),
      ("\u{1B}[31mred\u{1B}[0m", "\u{1B}[31mred\u{1B}[0m"), ("\u{1B}[38;5;208mx", "\u{1B}[38;5;208mx"),
      ("\u{1B}[38;5;999mx", "\\u001b[38;5;999mx"), ("\u{1B}[8mhidden", "\\u001b[8mhidden"),
      ("\u{1B}", "\\u001b"),
    ] {
      #expect(TerminalText.escaped(text) == shown)
      #expect(TerminalText.escaped(shown) == shown)
    }
  }

  @Test func `a stream in pieces is as in one piece`() {
    let text = Array(("é日\u{1F469}\r\n" + Self.hostile + "\rend").utf8) + [0xFF, 0x80, 0xE2, 0x41]
    var whole = TerminalFilter()
    let expected = whole.filtered(text)
    #expect(Self.unsafe(expected).allSatisfy { $0 == "\r" })
    var random = SeededRandom(seed: 7)
    for _ in 0..<200 {
      var (filter, result, rest) = (TerminalFilter(), [UInt8](), text[...])
      while !rest.isEmpty {
        let count = 1 + Int(random.next() % 5)
        result += filter.filtered(Array(rest.prefix(count)))
        rest = rest.dropFirst(count)
      }
      #expect(result == expected)
    }
  }

  @Test func `no command lets them through to a terminal`() throws {
    let tool = try ToolRun()
    let (path, text) = (tool.path, Self.hostile)
    let plain = tool.directory + "/plain"
    let json = String(decoding: TerminalTextTests.quoted(text), as: UTF8.self)
    #expect(try tool("doc", "put", path, "a", "{\"n\":\(json),\(json):1}").code == .success)
    #expect(try tool("put", plain, text, text).code == .success)
    #expect(try tool("put", plain, "json", json).code == .success)
    #expect(try tool("put", plain, "k", "v", "--keyspace", text).code == .success)
    let commands = [
      ["doc", "get", path, "a"], ["doc", "list", path], ["doc", "list", path, "--fields", "n"],
      ["find", path, "{}"], ["find", path, "{}", "--json"], ["query", path, "SELECT n FROM _"],
      ["query", path, "SELECT n FROM _", "--json"], ["query", path, "SELECT \u{1B}[31m\(text)"],
      ["changes", path, "--documents"], ["export", path, "-", "--documents"], ["get", plain, text],
      ["get", plain, "json"], ["get", plain, text, "--json"], ["list", plain], ["list", plain, "--json"],
      ["export", plain, "-"], ["info", plain], ["info", plain, "--all", "--json"], ["size", plain],
      ["size", plain, "--json"], ["stats", plain], ["map", plain], ["tree", plain],
      ["get", plain, "no \(text)"],
      ["get", tool.directory + "/\(text)", "key"], ["doc", "get", path, text],
      ["doc", "get", path, text, "--json"],
      ["list", plain, "--keyspace", text], ["list", plain, "--keyspace", "no \(text)"], [text],
      ["put", text],
      ["import", path, tool.directory + "/\(text)"], ["frames", plain], ["hex", plain, "0"],
      ["verify", plain],
    ]
    for words in commands {
      let (output, error) = shown(words)
      #expect(Self.unsafe(output).isEmpty, "\(words[0]): \(String(decoding: output, as: UTF8.self))")
      #expect(Self.unsafe(error).isEmpty, "\(words[0]): \(String(decoding: error, as: UTF8.self))")
      guard words.last == "--json", error.isEmpty, words[0] != "query" else { continue }
      #expect(JSON.compact(output) != nil, "\(words[0])")
    }
    // The escapes mean the same text.
    let document = JSON.compact(shown(["doc", "get", path, "a", "--compact"]).output) ?? []
    #expect(String(decoding: document, as: UTF8.self).contains("\\u202e"))
    #expect(try tool("doc", "put", path, "b", String(decoding: document, as: UTF8.self)).code == .success)
    #expect(try tool("doc", "get", path, "b").output == tool("doc", "get", path, "a").output)
  }

  @Test func `messages of errors are escaped for logs as well`() throws {
    let tool = try ToolRun()
    let text = try tool("query", tool.path, "SELECT \u{1B}[2J\u{202E}").error + tool("no\u{1B}[31m").error
    #expect(Self.unsafe(Array(text.utf8)).isEmpty, "\(text)")
  }

  private static func quoted(_ text: String) -> [UInt8] {
    var output = JSONOutput()
    output.text(text)
    return output.take()
  }
}
