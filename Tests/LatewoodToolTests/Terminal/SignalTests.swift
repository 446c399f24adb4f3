import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import LatewoodTerminal
import Testing

@testable import LatewoodTool

/// Long commands that are stopped midway: the signal ends them, the database is sound, and no
/// unfinished files remain.
@Suite struct SignalTests {
  private typealias Signal = ChildProcess.TerminationSignal

  private static let entries = 2_000

  private func fill(_ place: Workplace) throws {
    let store = try Store.open(at: place("db"))
    let keyspace = try store.keyspace("default")
    try store.write { transaction in
      for number in 0..<Self.entries {
        try transaction.put("key \(number)", String(repeating: "value", count: 20), in: keyspace)
      }
    }
    try store.close()
  }

  /// Starts the tool, waits until `isUnderWay`, and stops it.
  private func stop(
    _ arguments: [String], with signal: ChildProcess.TerminationSignal, when isUnderWay: () throws -> Bool
  ) throws {
    let child = try ChildProcess(try BuiltTool.path(), arguments: arguments, hasUsualSignals: true)
    let wasUnderWay = try Patience.wait(until: isUnderWay)
    try child.send(signal)
    let end = try child.waitForEnd()
    #expect(wasUnderWay, "\(arguments): \(end)")
    #expect(end.status == nil && end.signal == signal.number, "\(arguments) \(signal): \(end)")
  }

  /// Returns the names of all files except locks, which are never removed.
  private func files(_ place: Workplace) throws -> [String] {
    try Directories.names(in: place.path).filter { !$0.hasSuffix(".lock") }.sorted()
  }

  private func expectWhole(_ place: Workplace) throws {
    #expect(BuiltTool.run(["verify", place("db")]).code == .success)
    #expect(BuiltTool.run(["list", place("db"), "--count"]).output == "\(Self.entries)\n")
    // A writer can continue.
    #expect(BuiltTool.run(["put", place("db"), "key 0", "new"]).code == .success)
  }

  @Test(arguments: ChildProcess.TerminationSignal.allCases)
  func `a stopped command leaves nothing of the file it was writing`(
    signal: ChildProcess.TerminationSignal
  ) throws {
    for (command, unfinished) in [
      (["compact"], "db.compacting"), (["copy", "new"], "new.compacting"),
      (["backup", "new"], "new.backing-up"),
    ] {
      let place = try Workplace()
      try fill(place)
      let arguments = [command[0], place("db")] + command.dropFirst().map { place($0) } + ["--rate", "1000"]
      try stop(arguments, with: signal) { try FileVolume().exists(place(unfinished)) }
      #expect(try files(place) == ["db"], "\(command)")
      try expectWhole(place)
    }
  }

  @Test(arguments: ChildProcess.TerminationSignal.allCases)
  func `a signal ends an export to a pipe that is not read`(
    signal: ChildProcess.TerminationSignal
  ) throws {
    let place = try Workplace()
    try fill(place)
    // More than a pipe holds, so it waits for its reader.
    try stop(["export", place("db"), "-"], with: signal) {
      try FileVolume().exists(place("db.lock"))
    }
    #expect(try files(place) == ["db"])
    try expectWhole(place)
  }

  @Test(arguments: ChildProcess.TerminationSignal.allCases)
  func `a stopped import keeps the values it had committed`(signal: ChildProcess.TerminationSignal) throws {
    let place = try Workplace()
    try fill(place)
    let session = try TerminalSession(["import", place("db"), "-", "--key", "id"])
    try session.type("{\"id\":\"a\"}\n")
    try session.waitUntil("Importing", repeating: { try session.type("{\"id\":\"b\"}\n") })
    try session.send(signal)
    #expect(try session.wait() == nil)
    // Its progress line is gone, and the terminal is in its original mode.
    #expect(!session.all.rows.contains { $0.contains("Importing") })
    #expect(try session.editsLines)
    #expect(try files(place) == ["db"])
    #expect(BuiltTool.run(["verify", place("db")]).code == .success)
    let count = Int(BuiltTool.run(["list", place("db"), "--count"]).output.dropLast()) ?? 0
    #expect(count >= Self.entries)
  }

  @Test func `commands that only read can be stopped at any time`() throws {
    let place = try Workplace()
    try fill(place)
    for (index, command) in ["verify", "map", "salvage", "history", "info", "export"].enumerated() {
      for signal in ChildProcess.TerminationSignal.allCases {
        let target = command == "salvage" || command == "export" ? [place("new")] : []
        let child = try ChildProcess(
          try BuiltTool.path(), arguments: [command, place("db")] + target, hasUsualSignals: true)
        Monitor.sleep(milliseconds: UInt64(index * 3))
        try child.send(signal)
        let end = try child.waitForEnd()
        #expect(end.status == 0 || end.signal == signal.number, "\(command) \(signal): \(end)")
        // Either finished or missing: the signal arrived before the first or after the last step.
        if end.status == nil { #expect(try files(place).allSatisfy { $0 == "db" || $0 == "new" }) }
        for name in try files(place) where name != "db" { try Directories.removeTree(place(name)) }
      }
    }
    try expectWhole(place)
  }

  @Test func `an ignored signal stays ignored`() throws {
    let place = try Workplace()
    try fill(place)
    let (output, status) = try InstalledProgram.shell(
      "trap '' HUP; \"$1\" stats \"$2\" --watch --count 3 --interval 0.3 & sleep 0.2; kill -HUP $!; wait $!",
      [try BuiltTool.path(), place("db")])
    #expect(status == 0, "\(output)")
  }

  @Test func `help and the manual page document the exit codes of signals`() throws {
    for line in [["help"], ["help", "--man"]] {
      #expect(BuiltTool.run(line).output.contains("129, 130, 143"))
    }
  }
}
