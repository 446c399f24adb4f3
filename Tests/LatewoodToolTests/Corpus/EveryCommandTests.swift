import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodTool

/// Runs every command on every kind of file: it must never trap, and must return an exit code that
/// help documents.
@Suite struct EveryCommandTests {
  /// `LATEWOOD_EFFORT=high` is for overnight runs.
  static let mutations =
    CurrentProcess.environmentVariable("LATEWOOD_EFFORT") == "high" ? 2_000 : Effort.count(30, low: 8)

  @Test func `every command ends as documented on every golden file`() throws {
    let trial = CommandTrial()
    for file in try CorpusFile.all() {
      for command in CommandSamples.commands {
        try trial.run(file, command) { lines in
          lines.filter { line in !line.contains { $0.hasPrefix("--") } }
            + lines.filter { $0.contains("--json") }.prefix(1)
        }
      }
    }
    #expect(trial.runs > 400)
  }

  @Test func `every command ends as documented on mutated files`() throws {
    let seed = SeededRandom(seed: SeededRandom.seed())
    var random = seed
    let files = try CorpusFile.all()
    let trial = CommandTrial()
    for _ in 0..<Self.mutations {
      let file = random.pick(files).mutated(&random)
      for command in CommandSamples.commands {
        try trial.run(file, command, replay: seed.replay) { [random.pick($0)] }
      }
    }
  }

  @Test func `every command refuses files that are not databases`() throws {
    let trial = CommandTrial()
    let zeroes = [UInt8](repeating: 0, count: 40_000)
    for bytes in [[], Array("SQLite format 3\0".utf8), zeroes, Array("{\"a\":1}".utf8)] {
      for command in CommandSamples.commands where !CommandSamples.writing.contains(command.name) {
        let file = CorpusFile(name: "\(bytes.count) bytes", bytes: bytes, kind: .unknown)
        try trial.run(file, command) { $0 }
      }
    }
  }

  @Test func `every command refuses paths that lead to no file`() throws {
    let place = try Workplace()
    try Directories.make(place("directory"))
    for path in [place("nowhere"), place("no/where"), place("directory"), "/dev/null", "/dev/zero"] {
      var samples = CommandSamples(
        database: path, otherDatabase: path, source: path, newPath: { place("new") })
      samples.key = "k"
      for command in CommandSamples.commands where !CommandSamples.writing.contains(command.name) {
        for line in samples.plain(command) {
          let run = BuiltTool.run(line)
          #expect([.cannotOpen, .usage, .no].contains(run.code), "\(line): \(run.code) \(run.error)")
          #expect(!run.error.isEmpty, "\(line)")
        }
      }
    }
  }
}
