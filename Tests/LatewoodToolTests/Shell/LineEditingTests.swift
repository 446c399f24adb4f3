import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodTool

@Suite struct LineEditingTests {
  private func keys(_ bytes: [UInt8]) -> [TerminalKey] {
    var decoder = TerminalKeys()
    decoder.add(bytes)
    var keys: [TerminalKey] = []
    while let key = decoder.next() { keys.append(key) }
    return keys
  }

  private func edited(_ typed: String) -> EditedLine {
    var line = EditedLine()
    for key in keys(Array(typed.utf8)) { _ = line.apply(key) }
    return line
  }

  @Test func `keys are recognized in all their terminal encodings`() {
    #expect(
      keys(Array("a\u{1B}[D\u{1B}OC\u{1B}[1~\u{1B}[4~\u{1B}[H\u{1B}OF".utf8)) == [
        .text("a"), .left, .right, .home, .end, .home, .end,
      ])
    #expect(
      keys(Array("\u{1B}[1;5D\u{1B}f\u{1B}[3~\r\t\u{7F}\u{03}".utf8)) == [
        .wordLeft, .wordRight, .deleteForward, .enter, .tab, .backspace, .control("c"),
      ])
    #expect(keys(Array("\u{1B}[99xé".utf8)) == [.text("é")])
  }

  @Test func `a character may arrive in pieces`() {
    var decoder = TerminalKeys()
    var found: [TerminalKey] = []
    for byte in "é名\u{1B}[A🙂".utf8 {
      decoder.add([byte])
      while let key = decoder.next() { found.append(key) }
    }
    #expect(found == [.text("é"), .text("名"), .up, .text("🙂")])
  }

  @Test func `bytes that are not text are ignored`() {
    #expect(keys([0x80, 0xC0, 0xFF, 0x61, 0xE5, 0x90, 0x62, 0xF8]) == [.text("a"), .text("b")])
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<2_000 {
      var line = EditedLine()
      for key in keys(random.bytes(random.below(40))) { _ = line.apply(key) }
      _ = LineView(prompt: "> ", style: .plain).drawn(line, in: 20)
    }
  }

  @Test func `each editing key has its effect on the line`() {
    #expect(edited("abc\u{1B}[D\u{1B}[DX").text == "aXbc")
    #expect(edited("abc\u{01}X\u{05}Y").text == "XabcY")
    #expect(edited("abc\u{1B}[D\u{0B}").text == "ab")
    #expect(edited("abc\u{1B}[D\u{15}").text == "c")
    #expect(edited("put key  value  \u{17}X").text == "put key  X")
    #expect(edited("one two\u{1B}bX").text == "one Xtwo")
    #expect(edited("one two\u{01}\u{1B}fX").text == "oneX two")
    #expect(edited("abc\u{01}\u{1B}[3~").text == "bc")
    #expect(edited("\u{7F}\u{1B}[D\u{1B}[C\u{17}\u{0B}").isEmpty)
  }

  @Test func `the cursor moves by user-perceived characters`() {
    #expect(edited("e\u{301}x\u{1B}[D\u{7F}").text == "x")
    #expect(edited("名前\u{1B}[DX").text == "名X前")
    #expect(edited("👩‍👩‍👧a\u{1B}[D\u{1B}[DX").before == "X")
  }

  @Test func `wide characters take two columns`() {
    let view = LineView(prompt: "> ", style: .plain)
    let screen = Screen(Array(view.drawn(edited("名前x\u{1B}[D"), in: 80).utf8))
    #expect(screen.rows == ["> 名前x"] && screen.column == 6)
  }

  @Test func `a long line is shown in one row, around the cursor`() {
    let view = LineView(prompt: "> ", style: .plain)
    var line = EditedLine()
    for number in 0..<60 {
      _ = line.apply(.text(number % 3 == 0 ? "名" : "x"))
      let screen = Screen(Array(view.drawn(line, in: 30).utf8))
      #expect(screen.rows.count == 1 && screen.column < 30)
      #expect(DisplayWidth.of(screen.rows[0]) < 30)
    }
    for _ in 0..<60 {
      _ = line.apply(.left)
      let screen = Screen(Array(view.drawn(line, in: 30).utf8))
      #expect(DisplayWidth.of(screen.rows[0]) < 30 && screen.column < 30)
    }
    #expect(Screen(Array(view.drawn(line, in: 30).utf8)).column == 2)
  }

  @Test func `the length of a line is limited`() {
    var line = EditedLine()
    let hasRoom = [line.insert(String(repeating: "x", count: EditedLine.longest)), line.insert("x")]
    #expect(hasRoom == [true, false])
    // Drawing and completing it takes no noticeable time. The test has no clock; it shows this by
    // ending.
    #expect(Screen(Array(LineView(prompt: "> ", style: .plain).drawn(line, in: 30).utf8)).column == 29)
    #expect(ShellCompletion(database: "db").complete(line.before) == .nothing)
  }

  @Test func `earlier lines are recalled, and the unfinished one afterwards`() throws {
    var history = try ShellHistory(path: nil)
    for line in ["one", "two", "two", "  "] { try history.add(line) }
    #expect(history.lines == ["one", "two"])
    let back = [history.earlier(than: "new"), history.earlier(than: "two"), history.earlier(than: "one")]
    #expect(back == ["two", "one", nil])
    let forth = [history.later(), history.later(), history.later()]
    #expect(forth == ["two", "new", nil])
  }

  @Test func `the history file is private, and is read again`() throws {
    let place = try Workplace()
    var history = try ShellHistory(path: place("history"))
    for line in ["get a", "put 'x y' é"] { try history.add(line) }
    #expect(try FileVolume().open(place("history"), .readOnly).permissions() == 0o600)
    #expect(try ShellHistory(path: place("history")).lines == ["get a", "put 'x y' é"])
    try Directories.setPermissions(place("history"), 0o644)
    for number in 0..<1_500 { try history.add("line \(number) " + String(repeating: "x", count: 1000)) }
    #expect(try ShellHistory(path: place("history")).lines.count == ShellHistory.longest)
    #expect(try FileVolume().open(place("history"), .readOnly).permissions() == 0o600)
    #expect(throws: Failure.self) { _ = try ShellHistory(path: place("nowhere/history")) }
    #expect(throws: Failure.self) { _ = try ShellHistory(path: place.path) }
  }
}
