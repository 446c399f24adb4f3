import Foundation
import LatewoodDevice
import LatewoodServing
import LatewoodSimulation
import LatewoodTerminal
import Testing

@testable import LatewoodTool

/// The output of `--json` keeps its shape, which is in Tests/schemas, one file for each command.
@Suite struct SchemaTests {
  /// One way to run a command, and the expected result.
  struct Run: Decodable {
    var run: [String]
    /// The exit code; 0 if not given.
    var exit: Int32?
    /// "error" if the JSON goes to standard error.
    var stream: String?
    /// Whether each line is JSON of this shape.
    var lines: Bool?
    /// The shape; if missing, the previous run's shape applies.
    var shape: JSONTree?
  }

  private static func names() throws -> [String] {
    try Directories.names(in: Repository.path("Tests/schemas")).filter { $0.hasSuffix(".json") }.map {
      String($0.dropLast(5))
    }.sorted()
  }

  private static func runs(_ name: String) throws -> [Run] {
    try JSONDecoder().decode([Run].self, from: Data(try Repository.read("Tests/schemas/\(name).json")))
  }

  @Test func `every command with JSON output matches its schema`() throws {
    let names = try Self.names()
    for command in CommandTable.commands where !command.json.isEmpty {
      #expect(names.contains(command.name), "Tests/schemas/\(command.name).json is missing")
    }
    for name in names {
      #expect(name == "error" || CommandTable.command(named: name) != nil, "\(name) is no command")
      var shape = JSONTree.null
      for run in try Self.runs(name) {
        shape = run.shape ?? shape
        let place = SchemaPlace()
        let (status, output, error) = try place.run(run.run + ["--json"])
        #expect(status == run.exit ?? 0, "\(run.run): \(error)\(output.suffix(4000))")
        let text = run.stream == "error" ? error : output
        let parts = run.lines == true ? text.split(separator: "\n").map(String.init) : [text]
        #expect(!parts.isEmpty, "\(run.run)")
        for part in parts {
          let value = try JSONDecoder().decode(JSONTree.self, from: Data(part.utf8))
          let fault = JSONShape(tree: shape).fault(in: value)
          #expect(fault == nil, "\(run.run) prints \(part)")
        }
      }
    }
  }

  @Test func `help mentions every member of a schema`() throws {
    for name in try Self.names() where name != "error" {
      let help = try #require(CommandTable.command(named: name)).json.joined()
      // Help may refer to the output of another command by its name.
      for run in try Self.runs(name) {
        for member in Self.members(of: run.shape ?? .null) where member != "base64" {
          #expect(help.contains("\"\(member)\"") || help.contains("as `latewood"), "\(name): \(member)")
        }
      }
    }
  }

  private static func members(of shape: JSONTree) -> [String] {
    switch shape {
    case .array(let elements): elements.flatMap { members(of: $0) }
    case .object(let parts):
      parts.flatMap { name, part in
        // KIND in help stands for the kinds of regions.
        (name == "|" ? [] : [name.hasSuffix("?") ? String(name.dropLast()) : name])
          + (name == "kinds" ? [] : members(of: part))
      }
    default: []
    }
  }

  @Test func `a shape accepts no other values`() throws {
    func fault(_ shape: String, _ value: String) throws -> String? {
      let tree = try JSONDecoder().decode(JSONTree.self, from: Data(shape.utf8))
      return JSONShape(tree: tree).fault(in: try JSONDecoder().decode(JSONTree.self, from: Data(value.utf8)))
    }
    let shape = #"{"a":"number","b?":["text"],"c":{"|":["null",{"d":"boolean"}]},"e":"=x|y"}"#
    #expect(try fault(shape, #"{"a":1,"c":null,"e":"x"}"#) == nil)
    #expect(try fault(shape, #"{"a":1,"b":["x",""],"c":{"d":true},"e":"y"}"#) == nil)
    for wrong in [
      #"{"c":null,"e":"x"}"#, #"{"a":1,"c":null,"e":"x","z":1}"#, #"{"a":"1","c":null,"e":"x"}"#,
      #"{"a":1,"b":[1],"c":null,"e":"x"}"#, #"{"a":1,"c":{"d":1},"e":"x"}"#, #"{"a":1,"c":null,"e":"z"}"#,
      #"{"a":true,"c":null,"e":"x"}"#, "[]", "1",
    ] {
      #expect(try fault(shape, wrong) != nil, "\(wrong)")
    }
  }
}

/// The files that the capitalized words in a schema stand for.
private struct SchemaPlace {
  private let place = try? Workplace()

  /// Runs the tool as a program, because the demo restarts itself, which the test process cannot
  /// do.
  func run(_ words: [String]) throws -> (status: Int32?, output: String, error: String) {
    let place = try #require(place)
    if words.contains("ENTRIES") {
      try place.fill()
      #expect(BuiltTool.run(["put", place("db"), "0xff", "0xfe"]).code == .success)
    }
    if words.contains("DOCUMENTS") {
      try Repository.write(try CorpusFile.documents().bytes, to: place("documents"))
    }
    if words.contains("ENCRYPTED") {
      let file = try Repository.read("Tests/golden-encrypted/chacha20-raw.latewood")
      try Repository.write(file, to: place("encrypted"))
      try Repository.write(Array(0..<32), to: place("key"))
    }
    try Repository.write(Array(#"[{"a":1}]"#.utf8), to: place("text"))
    try Repository.write(Array(#"[{"a":}]"#.utf8), to: place("wrong"))
    let rows = #"{"total_rows":1,"offset":0,"rows":[{"id":"a","doc":{"_id":"a","_rev":"1-a"}}]}"#
    try Repository.write(Array(rows.utf8), to: place("couchdb"))
    let user = "ann:_admin:pbkdf2-sha256:1000:salt:\(String(repeating: "0", count: 64))"
    try UsersFile.write(UserFile(parsing: Array(user.utf8)), to: place("users"))
    let paths = [
      "ENTRIES": place("db"), "DOCUMENTS": place("documents"), "TEXT": place("text"), "WRONG": place("wrong"),
      "COUCHDB": place("couchdb"), "ENCRYPTED": place("encrypted"), "KEY": place("key"),
      "USERS": place("users"),
      "NEW": place("new"), "TORN": Repository.path("Tests/golden/torn-tail.latewood"),
      "COMPACTED": Repository.path("Tests/golden/compacted.latewood"),
      "DAMAGED": Repository.path("Tests/golden/damaged-node.latewood"),
    ]
    let arguments = words.map { paths[$0] ?? $0 }
    guard words.first == "demo" else {
      let run = BuiltTool.run(arguments)
      return (run.code.rawValue, run.output, run.error)
    }
    let child = try ChildProcess(try BuiltTool.path(), arguments: arguments)
    let output = String(decoding: try child.output.readAll(), as: UTF8.self)
    return (try child.wait(), output, "")
  }
}
