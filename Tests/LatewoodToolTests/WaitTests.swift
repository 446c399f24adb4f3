import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import LatewoodTerminal
import Testing

@testable import LatewoodTool

/// `--wait` of the commands that write.
@Suite struct WaitTests {
  @Test func `24 commands that are started together all save their document`() throws {
    let place = try Workplace()
    let tool = try BuiltTool.path()
    let run = try InstalledProgram.shell(
      """
      for i in $(seq 24); do
        "$1" doc put "$2" "doc $i" '{"n": 1}' --wait 10m >/dev/null || echo "$i failed" &
      done
      wait
      """, [tool, place("db")])
    #expect(run.status == 0)
    #expect(run.output == "")
    let list = try InstalledProgram.shell("exec \"$@\"", [tool, "doc", "list", place("db")])
    #expect(list.output.split(separator: "\n").count == 24)
  }

  @Test func `without it, or when the time is over, the command is refused`() throws {
    let tool = try ToolRun()
    #expect(try tool("put", "@", "apple", "red").code == .success)
    let lock = try FileVolume().lockForWriting(tool.path)
    #expect(try tool("put", "@", "apple", "green").code == .cannotOpen)
    let late = try tool("put", "@", "apple", "green", "--wait", "20ms")
    #expect(late.code == .cannotOpen)
    #expect(late.error.contains("0.02 seconds"))
    lock.unlock()
    #expect(try tool("put", "@", "apple", "green", "--wait", "0").code == .success)
  }

  @Test func `times have units`() throws {
    func time(_ text: String) throws -> Duration {
      try Arguments(["db", "key", "value", "--wait", text].map { Array($0.utf8) }, for: .put).lockTimeout()
    }
    #expect(try time("500ms") == .milliseconds(500))
    #expect(try time("30s") == .seconds(30))
    #expect(try time("30") == .seconds(30))
    #expect(try time("2m") == .seconds(120))
    for wrong in ["s", "-1s", "1.5s", "1h", "5 s", "99999999999s", "99999999999999999999s", "٣s"] {
      #expect(throws: Failure.self, "\(wrong)") { _ = try time(wrong) }
    }
  }

  @Test func `only actions that write take it`() throws {
    let tool = try ToolRun()
    for words in [["doc", "get", "@", "a"], ["index", "list", "@"], ["view", "@"], ["expiry", "@"]] {
      #expect(try tool.run(words + ["--wait", "1s"]).code == .usage, "\(words)")
    }
  }
}
