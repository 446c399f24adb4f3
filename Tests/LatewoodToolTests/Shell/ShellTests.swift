import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodTool

/// The shell as users see it: the built tool on a terminal.
@Suite(.serialized) struct ShellTests {
  private func begin(_ place: Workplace, _ options: [String] = [], columns: Int = 80) throws
    -> TerminalSession
  {
    let session = try TerminalSession(
      ["shell", place("db")] + options, columns: columns, environment: ["NO_COLOR": "1"])
    try session.expectRow("db> ")
    return session
  }

  @Test func `a command can be edited, run and recalled`() throws {
    let place = try Workplace()
    try place.fill()
    let session = try begin(place)
    #expect(try !session.editsLines)
    try session.type("gt greeting\u{01}\u{1B}[Ce\r")
    try session.expect("hello")
    try session.expectRow("db> ")
    try session.type("get 'ключ'\r")
    try session.expect("значение")
    try session.expectRow("db> ")
    try session.type("\u{1B}[A\u{1B}[A")
    try session.expectRow("db> get greeting")
    try session.type("\u{1B}[B")
    try session.expectRow("db> get 'ключ'")
    try session.type("\u{15}")
    try session.expectRow("db> ")
    try session.type("\u{04}")
    #expect(try session.wait() == 0)
    #expect(try session.editsLines)
    #expect(session.all.unknown.isEmpty && !session.all.hasColour)
  }

  @Test func `the path of a database alone opens the shell`() throws {
    let place = try Workplace()
    try place.fill()
    let session = try TerminalSession([place("db")], environment: ["NO_COLOR": "1"])
    try session.expectRow("db> ")
    try session.type("get greeting\r")
    try session.expect("hello")
    try session.expectRow("db> ")
    try session.type("\u{04}")
    #expect(try session.wait() == 0)
  }

  @Test func `Tab completes commands, options, keyspaces and paths`() throws {
    let place = try Workplace()
    try place.fill()
    let session = try begin(place)
    try session.type("ver\t")
    try session.expectRow("db> verify ")
    try session.type("\u{15}list --keys\t")
    try session.expectRow("db> list --keys")
    try session.type("\t\t")
    try session.expect("--keyspace   --keys-only")
    try session.type("p\tusers\t")
    try session.expectRow("db> list --keyspace users ")
    try session.type("\u{17}'user g\t")
    try session.expectRow("db> list --keyspace 'user groups' ")
    try session.type("\r")
    try session.expectRow("db> ")
    // A keyspace that was created in the meantime is offered: names are read anew each time.
    try #require(BuiltTool.run(["put", place("db"), "k", "v", "--keyspace", "zebra"]).code == .success)
    try session.type("list --keyspace=z\t")
    try session.expectRow("db> list --keyspace=zebra ")
    try Directories.make(place("directory"))
    try session.type("\u{15}export \(place.path)/dir\t")
    try session.expect("directory/")
    try session.type("\u{03}")
    try session.expectRow("db> ")
    try session.type("exit\r")
    #expect(try session.wait() == 0)
  }

  @Test func `Ctrl-C discards the line, and errors leave the shell open`() throws {
    let place = try Workplace()
    try place.fill()
    let session = try begin(place)
    try session.type("put x\u{03}")
    try session.expectRow("db> ")
    #expect(session.screen.rows.contains("db> put x^C"))
    for (line, answer) in [
      ("get 'a", "the quote ' in column 5 is not closed"), ("demo", "outside the shell"),
      ("frobnicate", "unknown command"), ("get", "KEY is missing"), ("get nothing", "No entry has the key"),
      ("help put", "leave out `latewood` and DATABASE"), ("help", "COMMAND [ARGUMENT ...] [--option ...]"),
    ] {
      try session.type(line + "\r")
      try session.expect(answer)
      try session.expectRow("db> ")
    }
    #expect(BuiltTool.run(["get", place("db"), "x"]).code == .no)
    try session.type("\u{04}")
    #expect(try session.wait() == 0)
  }

  @Test func `an interrupt stops the command, but not the shell`() throws {
    let place = try Workplace()
    try place.fill()
    let session = try begin(place)
    try session.type("put slow -\r")
    // The command reads the text that is typed now, in the terminal's own mode, where Ctrl-C is an
    // interrupt.
    try session.waitUntilItEditsLines()
    try session.type("text\n")
    try session.expect("text")
    try session.interrupt(untilRow: "db> ")
    #expect(BuiltTool.run(["get", place("db"), "slow"]).code == .no)
    try session.type("\u{04}")
    #expect(try session.wait() == 0)
  }

  @Test func `a signal that ends the shell restores the terminal first`() throws {
    let place = try Workplace()
    try place.fill()
    let session = try begin(place)
    #expect(try !session.editsLines)
    try session.send(.termination)
    #expect(try session.wait() == nil)
    #expect(try session.editsLines)
  }

  @Test func `the history file carries lines over to the next session`() throws {
    let place = try Workplace()
    try place.fill()
    let first = try begin(place, ["--history", place("history")])
    try first.type("get greeting\r")
    try first.expect("hello")
    try first.expectRow("db> ")
    try first.type("\u{04}")
    #expect(try first.wait() == 0)
    let second = try begin(place, ["--history", place("history")])
    try second.type("\u{1B}[A")
    try second.expectRow("db> get greeting")
    try second.type("\r")
    try second.expect("hello")
    try second.expectRow("db> ")
    try second.type("\u{04}")
    #expect(try second.wait() == 0)
  }

  @Test func `commands run without a history that can be written`() throws {
    let place = try Workplace()
    try place.fill()
    try Directories.make(place("folder"))
    let session = try begin(place, ["--history", place("folder/history")])
    try Directories.removeTree(place("folder"))
    for _ in 0..<2 {
      try session.type("get greeting\r")
      try session.expect("hello")
      try session.expectRow("db> ")
      try session.type("get nothing\r")
      try session.expect("No entry has the key")
      try session.expectRow("db> ")
    }
    #expect(session.all.rows.count { $0.contains("--no-history") } == 1, "\(session.all.rows)")
    try session.type("\u{04}")
    #expect(try session.wait() == 0)
  }

  @Test func `statements and selectors run without a command, over several lines`() throws {
    let place = try Workplace()
    try Repository.write(
      Array(#"[{"title":"Alien","year":1979},{"title":"Up","year":2009}]"#.utf8), to: place("films.json"))
    try #require(BuiltTool.run(["import", place("db"), place("films.json")]).code == .success)
    let session = try begin(place)
    try session.type("SELECT title\r")
    try session.expectRow("...> ")
    try session.type("FROM films WHERE year > 2000;\r")
    try session.expect("1 row in ")
    try session.expectRow("db> ")
    #expect(session.screen.rows.contains("Up"))
    try session.type(#"{"year":"# + "\r")
    try session.expectRow("...> ")
    try session.type("1979}\r")
    try session.expect(#""title": "Alien""#)
    try session.expectRow("db> ")
    // A statement can be given up, and is recalled as one line.
    try session.type("SELECT\r")
    try session.expectRow("...> ")
    try session.type("\u{03}")
    try session.expectRow("db> ")
    try session.type("\u{1B}[A\u{1B}[A")
    try session.expectRow("db> SELECT title FROM films WHERE year > 2000;")
    try session.type("\u{15}SELECT tit\t")
    try session.expectRow("db> SELECT title ")
    try session.type("\u{15}\u{04}")
    #expect(try session.wait() == 0)
  }

  @Test func `lines are kept between runs in the folder for state, unless that is switched off`() throws {
    let place = try Workplace()
    try place.fill()
    func run(_ typed: String, _ options: [String] = [], expecting row: String) throws {
      let session = try TerminalSession(
        ["shell", place("db")] + options,
        environment: ["NO_COLOR": "1", "XDG_STATE_HOME": place("a/state"), "LATEWOOD_HISTORY": nil])
      try session.expectRow("db> ")
      try session.type(typed)
      try session.expectRow(row)
      try session.type("\r")
      try session.expect("hello")
      try session.expectRow("db> ")
      try session.type("\u{04}")
      #expect(try session.wait() == 0)
    }
    try run("get greeting", ["--no-history"], expecting: "db> get greeting")
    #expect(try !FileVolume().exists(place("a/state/latewood/history")))
    try run("get greeting", expecting: "db> get greeting")
    #expect(try FileVolume().open(place("a/state/latewood/history"), .readOnly).permissions() == 0o600)
    try run("\u{12}gree", expecting: "(search: gree) get greeting")
    try run("\u{1B}[A", expecting: "db> get greeting")
  }

  @Test func `a narrow terminal and a resize keep the line in one row`() throws {
    let place = try Workplace()
    try place.fill()
    let session = try begin(place, columns: 40)
    try session.type("put key \(String(repeating: "名", count: 30))END")
    try session.expect("END")
    #expect(session.screen.rows.allSatisfy { DisplayWidth.of($0) <= 80 })
    #expect(DisplayWidth.of(session.screen.rows.last ?? "") < 40)
    try session.resize(columns: 120)
    try session.type("!")
    try session.expectRow("db> put key \(String(repeating: "名", count: 30))END!")
    try session.type("\u{03}\u{04}")
    #expect(try session.wait() == 0)
  }

  @Test func `a terminal without escape sequences receives none`() throws {
    let place = try Workplace()
    try place.fill()
    let session = try TerminalSession(["shell", place("db")], environment: ["TERM": "dumb"])
    try session.type("get nothing\nget greeting\n")
    try session.expect("hello")
    try session.type("\u{04}")
    #expect(try session.wait() == 1)
    #expect(!session.all.hasColour && !session.all.rows.contains { $0.contains(">") })
  }
}
