import LatewoodDevice
import Testing

@testable import LatewoodTool

/// Statements and selectors among the lines of the shell, and their completion.
@Suite struct ShellStatementTests {
  /// Returns the command that runs after the last line, and what follows on it.
  private func taken(_ lines: String...) -> (words: [String], rest: String)? {
    guard var statement = ShellStatement(startOf: lines[0]) else { return nil }
    for (number, line) in lines.enumerated() {
      guard let rest = statement.take(line) else { continue }
      #expect(number == lines.count - 1, "\(lines) ended early")
      return (statement.words, rest)
    }
    return nil
  }

  @Test func `a statement ends at a semicolon outside of quotes`() {
    #expect(taken("SELECT 1;")?.words == ["query", "SELECT 1"])
    #expect(
      taken("  select title", "FROM films", "WHERE a = ';';")?.words == [
        "query", "  select title\nFROM films\nWHERE a = ';'",
      ])
    #expect(taken("SELECT ';", "'", ", `a;b`, \"x;\\\";\" ; ")?.rest == "")
    #expect(taken("SELECT 'it''s;';")?.words.last == "SELECT 'it''s;'")
    #expect(taken("SELECT 1; SELECT 2;")?.rest == "SELECT 2;")
    #expect(taken("SELECT 1 -- it's; not", "; ")?.words.last == "SELECT 1 -- it's; not\n")
    #expect(taken("SELECT /*/ it's; */ 1 - -1;")?.words.last == "SELECT /*/ it's; */ 1 - -1")
    #expect(taken("SELECT /* a */* 2;")?.words.last == "SELECT /* a */* 2")
    #expect(taken("SELECT '--', 1;")?.rest == "" && taken(#"SELECT `a\`;"#)?.rest == "")
    #expect(taken("SELECT 1") == nil && taken("SELECT 1", "") == nil)
  }

  @Test func `a selector ends at its last brace`() {
    #expect(taken(#"{"year":1979}"#)?.words == ["find", #"{"year":1979}"#])
    #expect(
      taken("{", #""a":{"$in":["}", ";"]}"#, "};")?.words.last == "{\n\"a\":{\"$in\":[\"}\", \";\"]}\n}")
    #expect(taken(#"{"a":1"#) == nil && taken(#"{"a":"it's"}"#)?.rest == "")
  }

  @Test func `any other line is a command`() {
    for line in ["", "selected", "find {}", "# SELECT", "get SELECT", "SELECTOR"] {
      #expect(ShellStatement(startOf: line) == nil, "\(line)")
    }
    for line in ["SELECT", "select*", "SELECT'a'", " {"] { #expect(ShellStatement(startOf: line) != nil) }
  }

  @Test func `the history has a statement in one line`() {
    var statement = ShellStatement(startOf: "SELECT a")
    #expect(statement?.take("SELECT a") == nil)
    #expect(statement?.take("FROM b;") == "")
    #expect(statement?.line == "SELECT a FROM b;")
    // One line would be another string.
    var broken = ShellStatement(startOf: "SELECT 'a")
    #expect(broken?.take("SELECT 'a") == nil && broken?.take("b';") == "")
    #expect(broken != nil && broken?.line == nil)
  }

  @Test func `a history that cannot be written is reported once`() throws {
    let place = try Workplace()
    try Directories.make(place("folder"))
    var history = try ShellHistory(path: place("folder/history"))
    try history.add("first")
    try Directories.removeTree(place("folder"))
    #expect(throws: Failure.self) { try history.add("second") }
    try history.add("third")
    #expect(history.lines == ["first", "second", "third"])
  }

  @Test func `shells that run at the same time keep each other's lines`() async throws {
    let place = try Workplace()
    let path = place("history")
    let (shells, count) = (8, 100)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for shell in 0..<shells {
        group.addTask {
          var history = try ShellHistory(path: path)
          for number in 0..<count { try history.add("shell \(shell), line \(number)") }
        }
      }
      try await group.waitForAll()
    }
    #expect(Set(try ShellHistory(path: path).lines).count == shells * count)
  }

  private let completion = ShellCompletion(
    database: "db",
    names: Completion.Names(
      keyspaces: { _ in [] }, collections: { _ in ["films", "people"] }, indexes: { _, _ in [] },
      views: { _, _ in [] }, documentIDs: { _, _, _ in [] }, keys: { _, _, _ in [] },
      fields: { $1 == "people" ? ["name", "full name"] : ["title", "titles", "year"] }))

  @Test func `fields, collections and keywords are completed in a statement`() {
    #expect(completion.complete("SELECT ye") == .replace(count: 2, text: "year "))
    #expect(completion.complete("SELECT ti") == .replace(count: 2, text: "title"))
    #expect(completion.complete("SELECT title") == .choose(["title", "titles"]))
    #expect(completion.complete("SELECT title FROM fi") == .replace(count: 2, text: "films "))
    #expect(completion.complete("SELECT title fr") == .replace(count: 2, text: "FROM "))
    #expect(completion.complete("SELECT x FROM people WHERE na") == .replace(count: 2, text: "name "))
    #expect(completion.complete("SELECT x FROM people AS p WHERE p.na") == .replace(count: 2, text: "name "))
    #expect(completion.complete("SELECT 'ye") == .nothing && completion.complete("SELECT 1; ye") == .nothing)
    var statement = ShellStatement(startOf: "SELECT")
    _ = statement?.take("SELECT name FROM people")
    #expect(completion.complete("WHERE na", in: statement) == .replace(count: 2, text: "name "))
  }

  @Test func `fields and operators are completed in the quotes of a selector`() {
    #expect(completion.complete(#"{"ye"#) == .replace(count: 2, text: "year\""))
    #expect(completion.complete(#"{"year":{"$elem"#) == .replace(count: 5, text: "$elemMatch\""))
    #expect(completion.complete(#"{"year":ye"#) == .nothing)
  }

  @Test func `a search narrows with each letter and goes further back`() throws {
    var history = try ShellHistory(path: nil)
    for line in ["SELECT 1;", "get alien", "SELECT 2;", "get aliens"] { try history.add(line) }
    var search = HistorySearch(original: "typed")
    #expect(search.take(.text("S"), in: history) == .found && search.found == "SELECT 2;")
    #expect(search.take(.text("E"), in: history) == .found && search.found == "SELECT 2;")
    #expect(search.take(.control("r"), in: history) == .found && search.found == "SELECT 1;")
    #expect(search.take(.control("r"), in: history) == .failed && search.found == "SELECT 1;")
    #expect(search.take(.text("x"), in: history) == .failed && search.found == "SELECT 1;")
    for _ in 0..<3 { _ = search.take(.backspace, in: history) }
    #expect(search.text.isEmpty && search.found == nil)
    #expect(search.take(.text("alien"), in: history) == .found && search.found == "get aliens")
    #expect(search.take(.left, in: history) == .passed)
    #expect(search.take(.control("g"), in: history) == .cancelled)
  }
}
