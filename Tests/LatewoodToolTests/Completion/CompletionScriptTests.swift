import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodTool

@Suite struct CompletionScriptTests {
  @Test(arguments: CompletionScript.allCases) func `each shell accepts its script`(
    script: CompletionScript
  ) throws {
    guard let shell = InstalledProgram.path(script.rawValue) else { return }
    let place = try Workplace()
    let (output, status) = try InstalledProgram.shell(
      "\"$1\" completion \"$2\" > \"$3\" && \"$4\" -n \"$3\"",
      [try BuiltTool.path(), script.rawValue, place("script"), shell])
    #expect(status == 0 && output.isEmpty, "\(output)")
  }

  @Test func `a shell without a script is refused`() {
    let run = BuiltTool.run(["completion", "tcsh"])
    #expect(run.code == .usage && run.error.contains("bash, zsh, fish"))
  }

  @Test func `a script is answered with a kind, and with words and their meanings`() throws {
    let place = try Workplace()
    try place.fill()
    #expect(
      BuiltTool.run(["complete", "latewood verif"]).output
        == "words\nverify\t\(CommandDescription.verify.summary)\n")
    #expect(BuiltTool.run(["complete", "latewood info "]).output == "files\n")
    #expect(
      BuiltTool.run(["complete", "latewood list \(place("db")) --keyspace user"]).output
        == "words\nuser groups\t\nusers\t\n")
    #expect(BuiltTool.run(["complete", "latewood list \(place("nowhere")) --keyspace "]).output == "words\n")
    #expect(BuiltTool.run(["complete", ""]).output.contains("\nverify\t"))
  }

  @Test func `the first hundred ids and keys are read from the file`() throws {
    let place = try Workplace()
    try place.fill()
    func offered(_ line: String) -> [String] {
      BuiltTool.run(["complete", "latewood \(line)"]).output.split(separator: "\n").dropFirst().map {
        String($0.prefix { $0 != "\t" })
      }
    }
    let lines = (0..<120).map { #"{"id":"film \#($0 + 1000)"}"# }.joined(separator: "\n")
    try Repository.write(Array(lines.utf8), to: place("films.json"))
    #expect(
      BuiltTool.run(["import", place("films"), place("films.json"), "--documents", "--id", "id"]).code
        == .success)
    #expect(BuiltTool.run(["index", "create", place("films"), "by n", "n"]).code == .success)
    #expect(offered("doc get \(place("films")) ").count == 100)
    #expect(offered("doc get \(place("films")) 'film 100") == (1000..<1010).map { "film \($0)" })
    #expect(offered("doc get \(place("films")) --collection none ").isEmpty)
    #expect(offered("index drop \(place("films")) ") == ["by n"])
    #expect(offered("view rows \(place("films")) ").isEmpty && offered("get \(place("films")) ").isEmpty)
    for key in ["plain", "plum", "0xff00"] {
      #expect(BuiltTool.run(["put", place("keys"), key, "1"]).code == .success)
    }
    #expect(offered("get \(place("keys")) ") == ["plain", "plum"])
    #expect(offered("get \(place("keys")) plu") == ["plum"] && offered("get \(place("keys")) x").isEmpty)
    #expect(offered("get \(place("nowhere")) ").isEmpty && offered("doc get \(place("keys")) ").isEmpty)
  }

  @Test(.enabled(if: InstalledProgram.path("bash") != nil)) func `in bash, Tab completes`() throws {
    let place = try Workplace()
    try place.fill()
    let directory = try BuiltTool.path().split(separator: "/").dropLast().joined(separator: "/")
    let path = "/\(directory):\(CurrentProcess.environmentVariable("PATH") ?? "")"
    let bash: String = try #require(InstalledProgram.path("bash"))
    let session = try TerminalSession(
      program: bash,
      ["--norc", "--noprofile", "-i"], columns: 200,
      environment: [
        "PATH": path, "PS1": "$ ", "INPUTRC": "/dev/null", "TERM": "dumb", "HISTFILE": "/dev/null",
      ])
    try session.expectRow("$ ")
    try session.type("source <(latewood completion bash); cd \(place.path); : > data.json\r")
    try session.expect("data.json")
    try session.expectRow("$ ")
    for (typed, result) in [
      ("latewood verif\t", "latewood verify "),
      ("latewood import db da\t", "latewood import db data.json "),
      ("latewood list db --rev\t", "latewood list db --reverse "),
      ("latewood list db --keyspace users --keys\t", "latewood list db --keyspace users --keys-only "),
      ("latewood list db --keyspace users\t", "latewood list db --keyspace users "),
      ("latewood list db --keyspace=users\t", "latewood list db --keyspace=users "),
      ("latewood list db --keyspace user\\ \t", "latewood list db --keyspace user\\ groups "),
      ("latewood list db --keyspace 'user g\t", "latewood list db --keyspace 'user groups' "),
      ("latewood import db d --existing k\t", "latewood import db d --existing keep "),
      ("latewood shell db --history=da\t", "latewood shell db --history=data.json "),
    ] {
      try session.type(typed)
      try session.expect(result)
      try session.type("\u{15}")
    }
    try session.type("exit\r")
    #expect(try session.wait() != nil)
  }
}
