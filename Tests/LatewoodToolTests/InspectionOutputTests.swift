import LatewoodDevice
import Testing

@testable import LatewoodTool

/// The inspecting commands print the expected text about golden files, kept in Tests/golden-output.
///
/// `LATEWOOD_REGENERATE_OUTPUT=1` rewrites it, to be read before it is committed.
@Suite struct InspectionOutputTests {
  static let runs: [(name: String, arguments: [String])] = [
    ("map-annotated", ["map", "annotated"]), ("map-holes", ["map", "holes"]),
    ("map-damaged-node", ["map", "damaged-node"]), ("map-torn-tail", ["map", "torn-tail"]),
    ("map-annotated-json", ["map", "annotated", "--json"]),
    ("map-keyspaces", ["map", "holes", "--by", "keyspace"]),
    ("map-part", ["map", "annotated", "--from", "0x4000", "--length", "512"]),
    ("map-part-json", ["map", "annotated", "--from", "16500", "--length", "100", "--json"]),
    ("map-beyond", ["map", "annotated", "--from", "0xffffff"]),
    ("map-no-length", ["map", "annotated", "--length", "0"]),
    ("map-part-svg", ["map", "compacted", "--from", "0x4000", "--by", "keyspace", "--svg", "-"]),
    ("map-compacted-svg", ["map", "compacted", "--svg", "-"]),
    ("map-damaged-slots", ["map", "damaged-slots"]), ("map-empty", ["map", "empty"]),
    ("map-malformed", ["map", "malformed-operation"]),
    ("tree-high-tree", ["tree", "high-tree"]), ("tree-high-tree-json", ["tree", "high-tree", "--json"]),
    ("tree-keyspace", ["tree", "annotated", "--keyspace", "fruit"]),
    ("tree-no-keyspace", ["tree", "annotated", "--keyspace", "nuts"]),
    ("tree-leaf", ["tree", "annotated", "--node", "0x40c0"]),
    ("tree-branch", ["tree", "high-tree", "--node", "53760"]),
    ("tree-branch-json", ["tree", "high-tree", "--node", "53760", "--json"]),
    ("tree-no-node", ["tree", "annotated", "--node", "64"]), ("tree-empty", ["tree", "empty"]),
    ("tree-damaged-node", ["tree", "damaged-node"]),
    ("frames-holes", ["frames", "holes"]), ("frames-backup", ["frames", "backup"]),
    ("frames-torn-tail", ["frames", "torn-tail"]),
    ("frames-long", ["frames", "long-transactions", "--limit", "6"]),
    ("frames-damaged-commit", ["frames", "damaged-commit"]),
    ("frames-json", ["frames", "annotated", "--json"]),
    ("frames-from", ["frames", "annotated", "--from", "16600"]),
    ("frame-commit", ["frame", "annotated", "16400"]), ("frame-checkpoint", ["frame", "annotated", "16855"]),
    ("frame-json", ["frame", "one-commit", "16384", "--json"]),
    ("frame-malformed", ["frame", "malformed-operation", "16384"]),
    ("hex-header", ["hex", "annotated", "0", "--length", "64"]),
    ("hex-damaged-slot", ["hex", "damaged-slots", "8192", "--length", "80"]),
    ("hex-branch", ["hex", "high-tree", "53760", "--length", "120"]),
    ("hex-extents", ["hex", "compacted", "16440", "--length", "400"]),
    ("hex-beyond", ["hex", "annotated", "0xffffff"]), ("hex-not-a-place", ["hex", "annotated", "seven"]),
    ("info-annotated", ["info", "annotated"]), ("info-holes", ["info", "holes"]),
  ]

  /// Replaces parts that depend on the path of the repository and on the file system.
  static func normal(_ run: CapturedRun) -> String {
    let lines = (run.output + (run.error.isEmpty ? "" : "--- error\n" + run.error)).split(
      separator: "\n", omittingEmptySubsequences: false)
    let text = lines.filter { !$0.hasPrefix("size  ") && !$0.hasPrefix("compaction  ") }.joined(
      separator: "\n")
    return "exit code \(run.code.rawValue)\n" + text.replacing(CapturedRun.tests + "/", with: "")
  }

  @Test(arguments: runs.map(\.name)) func `prints its recorded output`(name: String) throws {
    let arguments = try #require(Self.runs.first { $0.name == name }).arguments
    let run = CapturedRun(
      [arguments[0], CapturedRun.golden(arguments[1])] + arguments.dropFirst(2))
    let path = "\(CapturedRun.tests)/golden-output/\(name).txt"
    let text = Self.normal(run)
    if CurrentProcess.environmentVariable("LATEWOOD_REGENERATE_OUTPUT") == "1" {
      try CapturedRun.write(Array(text.utf8), to: path)
    }
    #expect(try String(decoding: CapturedRun.read(path), as: UTF8.self) == text, "\(name)")
    for line in run.output.split(separator: "\n") where !arguments.contains("--json") && !name.contains("svg")
    {
      #expect(DisplayWidth.of(line.replacing(CapturedRun.tests, with: "")) <= 80, "\(name): \(line)")
    }
  }

  @Test func `the folder has no other outputs`() throws {
    let names = try Directories.names(in: CapturedRun.tests + "/golden-output").filter {
      $0.hasSuffix(".txt")
    }
    .sorted()
    #expect(names == Self.runs.map { "\($0.name).txt" }.sorted())
  }
}
