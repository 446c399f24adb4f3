import LatewoodDevice
import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import LatewoodTool

/// Runs every inspecting command on files that were cut, changed or never were a database.
@Suite struct HostileInspectionTests {
  private static func commands(_ path: String, _ random: inout SeededRandom, size: Int) -> [[String]] {
    let offset = String(random.below(size + 1))
    return [
      ["map", path], ["map", path, "--json"], ["map", path, "--svg", "-"], ["tree", path],
      ["tree", path, "--json"],
      ["tree", path, "--node", String(random.below(size / 64 + 1) * 64)],
      ["tree", path, "--keyspace", "fruit"],
      ["frames", path], ["frames", path, "--json", "--from", offset],
      ["frames", path, "--follow", "--seconds", "0", "--from", offset], ["frame", path, offset],
      ["frame", path, offset, "--json"], ["hex", path, offset],
      ["hex", path, "16384", "--length", "5000", "--json"],
      // A store reads a damaged file many times before it reports the damage.
    ] + (random.oneIn(3) ? [["info", path], ["info", path, "--json"]] : [])
  }

  private static func check(_ path: String, _ random: inout SeededRandom, size: Int, _ message: String) {
    for arguments in commands(path, &random, size: size) {
      let run = CapturedRun(arguments)
      #expect([.success, .no, .cannotOpen, .damaged].contains(run.code), "\(message) \(arguments)")
      #expect(run.code == .success || !run.error.isEmpty || !run.output.isEmpty, "\(message) \(arguments)")
      guard arguments.contains("--json") else { continue }
      for line in run.output.split(separator: "\n") {
        #expect(JSON.compact(Array(line.utf8)) != nil, "\(message) \(arguments)")
      }
    }
  }

  private static let names: [String] = {
    do {
      return try Directories.names(in: CapturedRun.tests + "/golden").filter { $0.hasSuffix(".latewood") }
        .map { String($0.dropLast(9)) }.sorted()
    } catch {
      return []
    }
  }()

  @Test(arguments: names) func `no command traps on golden files, whole, truncated or with flipped bits`(
    name: String
  )
    throws
  {
    var random = SeededRandom(seed: SeededRandom.seed())
    let directory = try Directories.makeTemporary()
    defer { #expect(throws: Never.self) { try Directories.removeTree(directory) } }
    let bytes = try CapturedRun.read(CapturedRun.golden(name))
    Self.check(CapturedRun.golden(name), &random, size: bytes.count, "\(name) \(random.replay)")
    for round in 0..<2 {
      var changed = bytes
      if round == 0 { changed.removeLast(random.below(bytes.count)) }
      for _ in 0..<3 where round == 1 {
        changed[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
      }
      let path = "\(directory)/changed"
      try CapturedRun.write(changed, to: path)
      Self.check(path, &random, size: changed.count, "\(name) \(random.replay)")
    }
  }

  @Test func `files that are not databases are refused`() throws {
    let directory = try Directories.makeTemporary()
    defer { #expect(throws: Never.self) { try Directories.removeTree(directory) } }
    for (name, bytes) in [
      ("empty", []), ("zeros", [UInt8](repeating: 0, count: 40_000)), ("text", Array("text".utf8)),
    ] {
      try CapturedRun.write(bytes, to: "\(directory)/\(name)")
      for command in ["map", "tree", "frames", "info"] {
        let run = CapturedRun([command, "\(directory)/\(name)"])
        #expect(run.code == .cannotOpen && run.output.isEmpty, "\(command) \(name)")
        #expect(
          run.error.contains("latewood") && run.error.split(separator: "\n").count == 2, "\(command) \(name)")
      }
    }
    #expect(CapturedRun(["map", directory]).code == .cannotOpen)
    #expect(CapturedRun(["hex", directory + "/none", "0"]).code == .cannotOpen)
  }
}
