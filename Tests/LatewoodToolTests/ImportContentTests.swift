import LatewoodDevice
import Testing

@testable import LatewoodTool

/// `latewood import` without options makes documents, in a collection that it chooses, and other
/// commands use the only collection of a database.
@Suite struct ImportContentTests {
  private func write(_ text: String, _ name: String, in tool: ToolRun) throws -> String {
    let path = "\(tool.directory)/\(name)"
    try CapturedRun.write(Array(text.utf8), to: path)
    return path
  }

  @Test func `a file becomes documents of a collection with its name`() throws {
    let tool = try ToolRun()
    let films = try write(#"[{"title":"Alien"},{"title":"Up"}]"#, "films.json", in: tool)
    let result = try tool("import", "@", films)
    #expect(result.code == .success, "\(result.error)")
    #expect(result.output.hasPrefix("Imported 2 values (array) into the collection films in "))
    #expect(result.output.contains("It has the name of the file; --collection NAME chooses another."))
    #expect(try tool("collections", "@").output.contains("films "))
    #expect(try tool("doc", "list", "@", "--fields", "title").lines.count == 2)
    // A file of another name goes to the only collection there is, and the report tells.
    let more = try write(#"{"title":"Brazil"}"#, "more.json", in: tool)
    let second = try tool("import", "@", more, "--id", "title")
    #expect(second.output.contains("into the collection films"), "\(second.output)")
    #expect(second.output.contains("It is the only collection of the database"))
    #expect(try tool("find", "@", "--count").lines == ["3"])
    // With several collections, it is the one of the name again.
    #expect(try tool("import", "@", more, "--collection", "people").output.contains("collection people in"))
    #expect(try tool("import", "@", more).output.contains("the collection more in"))
    #expect(try tool("import", "@", films, "--replace").output.contains("the collection films in"))
    // As earlier releases did.
    #expect(try tool("import", "@", films, "--documents").output.contains("the collection _default in"))
    try tool.expectSound()
  }

  @Test func `replacing needs a collection that was named`() throws {
    let tool = try ToolRun()
    let films = try write(#"[{"title":"Alien"},{"title":"Up"}]"#, "films.json", in: tool)
    let more = try write(#"{"title":"Brazil"}"#, "more.json", in: tool)
    try #expect(tool("import", "@", films).code == .success)
    let refused = try tool("import", "@", more, "--replace")
    #expect(refused.code == .usage && refused.error.contains("--collection films"), "\(refused.error)")
    #expect(try tool("find", "@", "--count").lines == ["2"])
    try #expect(tool("import", "@", more, "--replace", "--collection", "films").code == .success)
    #expect(try tool("find", "@", "--count").lines == ["1"])
    try #expect(tool("import", "@", films, "--replace").code == .success)
    #expect(try tool("find", "@", "--count").lines == ["2"])
  }

  @Test func `export names the collection, and refuses an empty one beside others`() throws {
    let tool = try ToolRun()
    let films = try write(#"[{"t":"Alien"}]"#, "films.json", in: tool)
    try #expect(tool("import", "@", films).code == .success)
    let out = "\(tool.directory)/out"
    let first = try tool("export", "@", out).output
    #expect(first.hasPrefix("Exported 1 value (array) of the collection films, "), "\(first)")
    let chosen = try tool("export", "@", "\(out)2", "--collection", "films").output
    #expect(chosen.hasPrefix("Exported 1 value (array), "), "\(chosen)")
    try #expect(tool("import", "@", films, "--collection", "people").code == .success)
    let refused = try tool("export", "@", "\(out)3")
    #expect(refused.code == .usage, "\(refused.error)")
    #expect(refused.error.contains("--collection: films, people"), "\(refused.error)")
    #expect(try !FileVolume().exists("\(out)3"))
    #expect(try tool("export", "@", "--collection", "people").code == .success)
    #expect(try tool("export", "@", "--collection", "_default").code == .success)
  }

  @Test func `only an underscore stands for the only collection`() throws {
    let tool = try ToolRun()
    let films = try write(#"[{"t":"Alien"}]"#, "films.json", in: tool)
    try #expect(tool("import", "@", films).code == .success)
    #expect(try tool("query", "@", "SELECT t FROM _").lines == [#"{"t":"Alien"}"#])
    #expect(try tool("query", "@", "SELECT t FROM _default").output.isEmpty)
    #expect(try tool("query", "@", "SELECT t FROM _default._default").output.isEmpty)
  }

  @Test(arguments: [
    ("my films 2.old.json", "my-films-2"), ("_x.csv", "x"), ("né.json", "n-"), ("-.json", "_default"),
    (".json", "json"), ("a%b.json", "a-b"),
  ])
  func `the name of a collection is made of the name of any file`(file: String, name: String) throws {
    let tool = try ToolRun()
    let path = try write(file.hasSuffix("csv") ? "a\n1\n" : #"{"a":1}"#, file, in: tool)
    let result = try tool("import", "@", path, "--json")
    #expect(result.output.contains(#""collection":"\#(name)""#), "\(result.output) \(result.error)")
  }

  @Test func `keys and values are imported on request, and where they are already`() throws {
    let tool = try ToolRun()
    let films = try write(#"[{"t":"Alien"}, 1.50, null]"#, "films.json", in: tool)
    let refused = try tool("import", "@", films)
    #expect(refused.code == .badInput && refused.error.contains("--entries"), "\(refused.error)")
    let entries = try ToolRun()
    #expect(try entries("import", "@", films, "--entries").output.contains("into the keyspace default in"))
    #expect(try entries("get", "@", "0000000001").output == "1.50")
    let again = try entries("import", "@", films, "--replace")
    #expect(again.output.contains("It is a keyspace of entries, because the database has entries."))
    // An exported text is imported as the same kind of content.
    let exported = try entries("export", "@", "--format", "entries").output
    let copy = try ToolRun()
    let text = try write(exported, "copy.jsonl", in: copy)
    let copied = try copy("import", "@", text)
    #expect(copied.output.contains("because SOURCE is the export of a keyspace"), "\(copied.output)")
    #expect(try copy("get", "@", "0000000001").output == "1.50")
    let documents = try ToolRun()
    #expect(try documents("import", "@", text, "--documents").code == .success)
    #expect(try documents("find", "@", "--count").lines == ["3"])
    for option in [["--key", "t"], ["--keyspace", "k"], ["--format", "entries"]] {
      for other in [["--documents"], ["--id", "t"], ["--collection", "c"], ["--entries", "--documents"]] {
        let result = try copy.run(["import", "@", text] + option + other)
        #expect(result.code == .usage && result.error.contains("do not go together"), "\(result.error)")
      }
    }
  }

  @Test func `export writes the documents of a file of documents without being asked`() throws {
    let tool = try ToolRun()
    let films = try write(#"[{"t":"Alien"},{"t":"Up"}]"#, "films.json", in: tool)
    try #expect(tool("import", "@", films).code == .success)
    #expect(try tool("export", "@").output == "[\n{\"t\":\"Alien\"},\n{\"t\":\"Up\"}\n]\n")
    #expect(
      try tool("export", "@", "\(tool.directory)/out", "--json").output.contains(#""collection":"films""#))
  }

  @Test func `the only collection is the one for every command that names none`() throws {
    let tool = try ToolRun()
    let films = try write(#"[{"t":"Alien","n":1},{"t":"Up","n":2}]"#, "films.json", in: tool)
    try #expect(tool("import", "@", films, "--id", "t").code == .success)
    #expect(try tool("find", "@", #"{"n":2}"#, "--fields", "t").lines == [#"{"t":"Up"}"#])
    #expect(try tool("query", "@", "SELECT t FROM _ WHERE n = 1").lines == [#"{"t":"Alien"}"#])
    #expect(try tool("doc", "get", "@", "Up").output == #"{"n":2,"t":"Up"}"# + "\n")
    try #expect(tool("doc", "put", "@", "Heat", #"{"n":3}"#).code == .success)
    try #expect(tool("index", "create", "@", "by n", "n").code == .success)
    #expect(try tool("index", "@", "--json").output.contains(#""collection":"films""#))
    #expect(try tool("changes", "@").lines.count == 3)
    try #expect(tool("expiry", "set", "@", "Heat", "+1d").code == .success)
    #expect(try tool("doc", "list", "@", "--json").output.contains(#""collection":"films""#))
    try #expect(tool("doc", "delete", "@", "Heat").code == .success)
    #expect(try tool("collections", "@").lines[0].contains("0 documents"))
    let other = "\(tool.directory)/other"
    try #expect(tool("replicate", "@", other, "--create").code == .success)
    #expect(try tool("find", other, "--count", "--json").output.contains(#""collection":"films","count":2"#))
    // A second one makes it ambiguous, and _default is the default again.
    try #expect(tool("doc", "put", "@", "Ann", "{}", "--collection", "people").code == .success)
    #expect(try tool("find", "@", "--count").lines == ["0"])
    try tool.expectSound()
  }

  @Test func `completion reads the only collection as well`() throws {
    let tool = try ToolRun()
    let films = try write(#"[{"t":"Alien"},{"t":"Up"}]"#, "films.json", in: tool)
    try #expect(tool("import", "@", films, "--id", "t").code == .success)
    let names = Completion.Names.fromFile
    #expect(names.documentIDs(tool.path, "_default", "") == ["Alien", "Up"])
  }

  @Test func `a word that is neither a command nor a file is refused`() throws {
    let tool = try ToolRun()
    let result = try tool("@")
    #expect(result.code == .usage && result.error.contains("unknown command"), "\(result.error)")
    #expect(try tool(tool.directory).code == .usage)
  }
}
