import LatewoodSimulation
import Testing

@testable import LatewoodTool

@Suite struct ShellWordsTests {
  @Test(arguments: [
    ("", []), ("  \t ", []), ("get a", ["get", "a"]), ("  get   a\t", ["get", "a"]),
    (#"put 'a b' "c d""#, ["put", "a b", "c d"]), (#"a\ b"#, ["a b"]), (#"'a'b"c""#, ["abc"]),
    (#"'' "" x"#, ["", "", "x"]), (#"'a\b'"#, [#"a\b"#]), (#""a\"b\\c\d""#, [#"a"b\c\d"#]),
    (#"\'\"\\"#, [#"'"\"#]), ("名前 'é e\u{301}'", ["名前", "é e\u{301}"]), ("a#b '#'", ["a#b", "#"]),
  ]) func `words are split as documented`(line: String, words: [String]) throws {
    #expect(try ShellWords.split(line) == words)
  }

  @Test func `an open quote is reported with its column`() {
    for (line, part) in [
      ("put 'a", "quote ' in column 5"), ("put a\"b", "quote \" in column 6"), ("put a\\", "backslash"),
    ] {
      let failure = #expect(throws: Failure.self) { try ShellWords.split(line) }
      #expect(failure?.exitCode == .usage)
      #expect(failure?.message.contains(part) == true, "\(failure?.message ?? "")")
      #expect(failure?.advice.isEmpty == false)
    }
  }

  @Test func `any words can be quoted and split again`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    let pieces = ["a", " ", "'", "\"", "\\", "#", "é", "\t", "名", "-"]
    for _ in 0..<2_000 {
      let words = (0...random.below(4)).map { _ in
        (0..<random.below(6)).map { _ in random.pick(pieces) }.joined()
      }
      let line = words.map(ShellWords.quoted).joined(separator: " ")
      #expect(try ShellWords.split(line) == words, "\(random.replay): \(line)")
    }
  }

  @Test func `the unfinished word is separate`() {
    #expect(ShellWords(partial: "get").last == "get")
    #expect(ShellWords(partial: "get ").last == nil)
    #expect(ShellWords(partial: "get 'a b").last == "a b")
    #expect(ShellWords(partial: "get '").last == "")
  }
}

@Suite struct ShellLineTests {
  private func arguments(_ line: String, hasInput: Bool = true) throws -> [String] {
    try ShellLine.arguments(ShellWords.split(line), database: "DB", hasInput: hasInput).map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  @Test func `the database is inserted at its position`() throws {
    #expect(try arguments("info") == ["info", "DB"])
    #expect(try arguments("get a --keyspace b") == ["get", "DB", "a", "--keyspace", "b"])
    #expect(try arguments("get --keyspace b a") == ["get", "--keyspace", "b", "DB", "a"])
    #expect(try arguments("get --keyspace=b -- -a") == ["get", "--keyspace=b", "--", "DB", "-a"])
    #expect(try arguments("list --json") == ["list", "--json", "DB"])
    #expect(try arguments("help get") == ["help", "get"])
  }

  @Test func `any command is parsed as it would be outside the shell`() throws {
    for command in CommandTable.commands where command.refusalInShell == nil {
      let operands = command.operands.map { $0.choices.first ?? "x" }
      let inside = operands.enumerated().filter { $0.offset != command.databaseOperand }.map(\.element)
      let line = ([command.name] + inside).joined(separator: " ")
      var outside = operands
      if let place = command.databaseOperand { outside[place] = "DB" }
      #expect(try arguments(line) == CommandTable.withoutInspect([command.name] + outside) { $0 })
    }
  }

  @Test func `commands that make no sense inside the shell are refused`() {
    for line in ["demo", "shell", "shell x", "latewood info", "frobnicate", "completion bash"] {
      let failure = #expect(throws: Failure.self, "\(line)") { _ = try arguments(line) }
      #expect(failure?.exitCode == .usage)
    }
    #expect(throws: Failure.self) { _ = try arguments("put a -", hasInput: false) }
    #expect(throws: Failure.self) { _ = try arguments("import -", hasInput: false) }
    #expect(throws: Never.self) { _ = try arguments("export -", hasInput: false) }
    #expect(throws: Never.self) { _ = try arguments("get -", hasInput: false) }
    #expect(throws: Never.self) { _ = try arguments("put a -") }
  }
}
