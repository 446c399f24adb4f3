import LatewoodDevice
import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import LatewoodTool

/// Runs commands on files inside this process, where a trap would end the tests, and checks the
/// promises that all commands make.
final class CommandTrial {
  private let place = try? Workplace.inMemory()
  private var number = 0
  private(set) var runs = 0

  /// Runs the lines that `choose` picks from a command's lines, each on a copy of the file.
  func run(
    _ file: CorpusFile, _ command: CommandDescription, replay: String = "",
    _ choose: ([[String]]) -> [[String]]
  ) throws {
    let place = try #require(place)
    let samples = CommandSamples(
      database: place("db"), otherDatabase: place("other"), source: place("text.json"),
      newPath: { [self] in
        number += 1
        return place("new\(number)")
      })
    try Repository.write(Array("[{\"a\":1},{\"b\":[2]}]".utf8), to: place("text.json"))
    try Repository.write(file.bytes, to: place("other"))
    try Repository.write(file.bytes, to: place("db"))
    for line in choose(samples.plain(command) + samples.withOptions(command)) {
      let (code, output, error) = BuiltTool.run(line)
      runs += 1
      let what: Comment =
        "\(file.name): latewood \(line.joined(separator: " ")): \(code): \(error.prefix(300)) \(replay)"
      check(line, command, file, code, output, error, what)
      if CommandSamples.writing.contains(command.name) {
        try Repository.write(file.bytes, to: place("db"))
      } else {
        #expect(try Repository.read(FileVolume(), place("db")) == file.bytes, what)
      }
    }
    for name in try Directories.names(in: place.path) { try Directories.removeTree(place(name)) }
  }

  private func check(
    _ line: [String], _ command: CommandDescription, _ file: CorpusFile, _ code: ExitCode, _ output: String,
    _ error: String, _ what: Comment
  ) {
    // No pipe was closed.
    #expect(code != .brokenPipe, what)
    // A failure has a message and, in JSON, the word that programs may rely on.
    if ![.success, .no, .usage].contains(code) { #expect(!error.isEmpty, what) }
    let isJSON = line.contains("--json")
    if isJSON, code == .success || code == .no, !output.isEmpty {
      // The output of `doc get` and `export` on standard output is data.
      let parts =
        Self.printingLines.contains(command.name) ? output.split(separator: "\n")[...] : [output[...]]
      for part in parts where command.name != "export" {
        #expect(JSON.compact(Array(part.utf8)) != nil, what)
      }
    }
    if isJSON, ![.success, .no].contains(code) {
      #expect(error.hasPrefix("{\"error\":{\"code\":\"") && JSON.compact(Array(error.utf8)) != nil, what)
    }
    // The key is read before the file.
    let isWithoutKey = code == .badInput && line.contains("--key-file")
    // All commands of the store report the same error for a file that is rejected.
    if file.kind == .rejected, code != .usage, !isWithoutKey, Self.opening.contains(command.name) {
      #expect(code == .cannotOpen, what)
    }
    if command.name == "verify", code != .usage, !isWithoutKey {
      switch file.kind {
      case .readable: #expect(code == .success || code == .no, what)
      case .damaged: #expect(code == .damaged || code == .no, what)
      case .rejected: #expect(code == .cannotOpen, what)
      case .unknown: #expect([.success, .no, .damaged, .cannotOpen].contains(code), what)
      }
    }
  }

  /// Commands that print a line of JSON for each item.
  private static let printingLines: Set<String> = ["frames", "stats", "diff"]

  /// Commands that first open the file through the store.
  private static let opening: Set<String> = [
    "info", "size", "verify", "history", "get", "list", "delete", "export", "compact", "copy", "collections",
  ]
}
