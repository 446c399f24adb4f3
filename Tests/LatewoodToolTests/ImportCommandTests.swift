import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodTool

/// `latewood import`: arrays inside an object, and keys of several members.
@Suite struct ImportCommandTests {
  private func imported(_ json: String, _ options: String...) throws -> (ToolRun, ToolRun.Result) {
    try imported(json, options)
  }

  private func imported(_ json: String, _ options: [String]) throws -> (ToolRun, ToolRun.Result) {
    let tool = try ToolRun()
    let source = "\(tool.directory)/source.json"
    let device = try FileVolume().open(source, .createExclusive(permissions: 0o600))
    try Array(json.utf8).withUnsafeBytes { try device.write($0, at: 0) }
    device.close()
    return (tool, try tool.run(["import", "@", source] + options))
  }

  private static let films = """
    {"count": 3, "skipped": {"films": [0]},
     "result": {"page": [1], "films": [
       {"title":"Alien","year":1979}, {"title":"Alien","year":1992}, {"title":"Up","year":2009}
     ], "next": null}, "end": "}"}
    """

  @Test func `the array at a path is imported without the text around it`() throws {
    let (tool, result) = try imported(
      Self.films, "--documents", "--at", "result.films", "--id", "title+year")
    #expect(result.code == .success && result.output.hasPrefix("Imported 3 values"), "\(result.error)")
    #expect(
      try tool("find", "@", "--fields", "_id,year").lines == [
        #"{"_id":"Alien/1979","year":1979}"#, #"{"_id":"Alien/1992","year":1992}"#,
        #"{"_id":"Up/2009","year":2009}"#,
      ])
    #expect(try tool("export", "@", "--documents").output.hasPrefix("["))
    try tool.expectSound()
    let (entries, second) = try imported(Self.films, "--at", "result.films", "--key", "year+title")
    #expect(second.code == .success)
    #expect(try entries("list", "@", "--keys-only").lines == ["1979/Alien", "1992/Alien", "2009/Up"])
    let (counted, third) = try imported(
      Self.films, "--at", "result.page", "--format", "array", "--entries")
    #expect(third.code == .success)
    #expect(try counted("list", "@", "--keys-only").lines == ["0000000000"])
  }

  @Test func `lines from the Couchbase Lite tool become documents without the member _id`() throws {
    let lines = """
      {"_id":"airline_10","name":"40-Mile Air","in":{"_id":1}}
      {"name":"Texas Wings","\\u005fid":"airline_\\u00e9"}
      {"_id":"empty"}

      """
    let (tool, result) = try imported(lines, "--documents", "--id", "_id")
    #expect(result.code == .success, "\(result.error)")
    #expect(
      try tool("doc", "get", "@", "airline_10").output == #"{"in":{"_id":1},"name":"40-Mile Air"}"# + "\n")
    #expect(try tool("doc", "get", "@", "airline_é").output == #"{"name":"Texas Wings"}"# + "\n")
    #expect(try tool("doc", "get", "@", "empty").output == "{}\n")
    try tool.expectSound()
    // With another id the member stays and is refused.
    let (_, refused) = try imported(lines, "--documents", "--id", "_id+name")
    #expect(refused.code == .badInput && refused.error.contains("_id is reserved"), "\(refused.error)")
    // Entries may have this name.
    let (entries, second) = try imported(lines, "--key", "_id")
    #expect(second.code == .success)
    #expect(try entries("get", "@", "empty").output.hasPrefix(#"{"_id":"empty"}"#))
  }

  @Test func `a Couchbase Lite database is refused with advice on how to convert it`() throws {
    let advice = "cblite cp NAME.cblite2 NAME.json"
    let tool = try ToolRun()
    let folder = "\(tool.directory)/travel.cblite2"
    try Directories.make(folder)
    for path in [folder, folder + "/"] {
      let result = try tool.run(["import", "@", path, "--documents"])
      #expect(result.code != .success && result.error.contains("directory"), "\(result.error)")
      #expect(result.error.unwrapped.contains(advice), "\(result.error)")
    }
    let (_, file) = try imported("SQLite format 3\u{0}and more", "--documents")
    #expect(file.code == .badInput && file.error.contains("SQLite"), "\(file.error)")
    #expect(file.error.unwrapped.contains(advice), "\(file.error)")
    // Anything else is a text.
    let (_, text) = try imported("SQLite format 3", "--documents")
    #expect(text.code == .badInput && !text.error.contains("cblite"), "\(text.error)")
    let help = try tool("help", "import").output.unwrapped
    #expect(help.contains("SQLite file, which this program cannot read") && help.contains(advice))
  }

  @Test(arguments: [[], ["--id", "name"], ["--id", "name+at.city"]])
  func `documents on lines are imported like an array, in any layout`(
    options: [String]
  ) throws {
    let documents = (0..<30).map { number in
      // A number as part of a key, spaces, escapes, and a line that no piece of the source holds.
      let name = number % 7 == 3 ? "\(number).0" : #""n\u00e9 \#(number)""#
      let text = number == 11 ? String(repeating: "x", count: 70_000) : "é"
      return #"{"name" : \#(name),"at":{"city":"Porto" }, "text":"\#(text)","n":[1.50, \#(number)]}"#
    }
    let (array, first) = try imported(
      "[" + documents.joined(separator: ",") + "]", ["--documents", "--unique"] + options)
    let separators = ["\n", "\r\n", "\n\n  ", " ", "\n"]
    var lines = ""
    for (number, document) in documents.enumerated() {
      lines += number % 5 == 4 ? document.replacing(":[", with: ":\n[\n") : document
      lines += separators[number % separators.count]
    }
    for text in [lines, lines + "\n", String(lines.dropLast())] {
      let (tool, second) = try imported(text, ["--documents", "--format", "lines"] + options)
      #expect(first.code == .success && second.code == .success, "\(first.error) \(second.error)")
      #expect(second.output.hasPrefix("Imported 30 values (lines)"))
      let found = try tool("find", "@", "--limit", "100", "--fields", "_id,name,at,text,n").lines
      #expect(found.count == 30)
      #expect(try found == array("find", "@", "--limit", "100", "--fields", "_id,name,at,text,n").lines)
      try tool.expectSound()
    }
  }

  @Test(
    arguments: [
      ("{}\n{}\n[1]\n{}", "this is not an object", 3), ("{}\n{}\n\n{\"_rev\":1}\n", "_rev is reserved", 4),
      ("{}\n{}\n{} {]\n{}", "expected the name of a member in double quotes", 3),
      ("{\n}\n{}\n{}{}\n", "followed by white space", 4),
      ("{}\n{\"a\":1e999}\n", "larger than any that can be stored", 2),
      ("{}\n\u{FEFF}{}\n", "a value", 2),
    ] as [(String, String, Int)])
  func `a line that is not a valid document is refused with its number`(
    text: String, message: String, line: Int
  ) throws {
    let (_, result) = try imported(text, "--documents", "--format", "lines")
    #expect(result.code == .badInput && result.error.contains(message), "\(result.error)")
    #expect(result.error.contains("line \(line)") || result.error.contains(":\(line)"), "\(result.error)")
  }

  @Test func `an invalid id is refused with its line`() throws {
    let (_, result) = try imported(#"{"k":"a"}"# + "\n" + #"{"k":"_b"}"# + "\n", "--documents", "--id", "k")
    #expect(result.code == .badInput && result.error.contains("line 2"), "\(result.error)")
  }

  @Test func `replaced and kept documents are counted`() throws {
    let text = "{\"k\":\"a\"}\n{\"k\":\"b\"}\n{\"k\":\"a\"}\n{\"k\":\"c\"}\n"
    let (tool, first) = try imported(text, "--documents", "--id", "k", "--json")
    #expect(first.output.contains(#""values":4,"added":3,"replaced":1,"kept":0"#), "\(first.output)")
    #expect(try tool("doc", "delete", "@", "b").code == .success)
    for (existing, counts) in [
      ("keep", #""added":1,"replaced":0,"kept":3"#), ("replace", #""added":0,"replaced":4,"kept":0"#),
    ] {
      let again = try tool.run([
        "import", "@", "\(tool.directory)/source.json", "--documents", "--id", "k", "--json", "--existing",
        existing,
      ])
      #expect(again.output.contains(counts), "\(existing): \(again.output)\(again.error)")
    }
    let refused = try tool.run([
      "import", "@", "\(tool.directory)/source.json", "--documents", "--id", "k", "--existing", "fail",
    ])
    #expect(refused.code == .badInput && refused.error.contains("already exists"))
  }

  @Test func `a backslash makes a dot or a plus part of a name`() throws {
    let json = #"{"a.b":[{"x+y":1,"x":{"y\\":2}}]}"#
    let (tool, result) = try imported(json, "--at", #"a\.b"#, "--key", #"x\+y+x.y\\"#)
    #expect(result.code == .success, "\(result.error)")
    #expect(try tool("list", "@", "--keys-only").lines == ["1/2"])
  }

  @Test(
    arguments: [
      (#"{"a":1,"b":2}"#, "c", #"the text has no member "c""#, #"It has "a", "b"."#),
      (#"{"a":{"x":[]}}"#, "a.b", #""a" has no member "b""#, #"It has "x"."#),
      ("{}", "a", #"no member "a""#, "It has no members."),
      (#"{"a":{}}"#, "a", #""a" is not an array"#, "--at a.b names"),
      (#"{"a":[]}"#, "a.b", #""a" is not an object"#, "--at a.b names"),
      ("[1]", "a", "the text is not an object", "--at a.b names"),
      ("", "a", "the text is not an object", "--at a.b names"),
      (#"{"a":[1],"a":[2]}"#, "a", #"the member "a" is there a second time"#, ""),
      (#"{"a":[1]}{"a":[2]}"#, "a", "something follows after the end of the object", ""),
      (#"{"a":[1]"#, "a", "the text ends inside an object", ""),
      (#"{"a":[1],}"#, "a", "expected the name of a member", ""),
      (#"{"a":[1] "b":2}"#, "a", "expected a comma or }, but found", ""),
      (#"{"a":[1],"b":[}"#, "a", "} cannot start a value", ""),
    ] as [(String, String, String, String)])
  func `a path without an array is refused, and the existing names are listed`(
    json: String, path: String, message: String, advice: String
  ) throws {
    let (tool, result) = try imported(json, "--at", path, "--entries")
    #expect(result.code == .badInput && result.output.isEmpty)
    #expect(result.error.contains(message) && result.error.contains("source.json, line 1"), "\(result.error)")
    #expect(advice.isEmpty || result.error.contains(advice), "\(result.error)")
    if !advice.isEmpty { try #expect(!FileVolume().exists(tool.path)) }
  }

  @Test(
    arguments: [
      (["--at", "a..b"], "a name is empty"), (["--at", ""], "is empty"),
      (["--at", "a", "--format", "lines"], "--at and --format lines do not go together"),
      (["--key", "a+"], "a name is empty"), (["--key", "+a"], "a name is empty"),
      (["--key", "a++b"], "a name is empty"), (["--documents", "--id", "a."], "--id: a name is empty"),
    ] as [([String], String)])
  func `invalid paths are refused`(options: [String], message: String) throws {
    let tool = try ToolRun()
    let source = "\(tool.directory)/source.json"
    try FileVolume().open(source, .createExclusive(permissions: 0o600)).close()
    let result = try tool.run(["import", "@", source] + options)
    #expect(result.code == .usage && result.error.contains(message), "\(result.error)")
    try #expect(!FileVolume().exists(tool.path))
  }

  @Test func `a value without a key member is refused with its position`() throws {
    let (_, result) = try imported("[{\"a\":1,\"b\":2},\n{\"a\":1}]", "--key", "a+b")
    #expect(result.code == .badInput && result.error.contains(#"line 2: value 2 has no member "b""#))
  }

  @Test(arguments: [["--key", "a"], ["--documents", "--id", "a"]])
  func `a key that occurs twice in the source is refused before anything is written`(options: [String]) throws
  {
    let tool = try ToolRun()
    func source(_ json: String) throws -> String {
      let path = "\(tool.directory)/\(json.count).json"
      let device = try FileVolume().open(path, .createExclusive(permissions: 0o600))
      try Array(json.utf8).withUnsafeBytes { try device.write($0, at: 0) }
      device.close()
      return path
    }
    let first = try source(#"[{"a":"x"},{"a":"y"}]"#)
    try #expect(tool.run(["import", "@", first, "--unique"] + options).code == .success)
    // More than a batch before the repeated one, and the keys are not new to the database.
    let numbers = (0..<5_000).map { #"{"a":\#($0)}"# }.joined(separator: ",\n")
    let repeated = try source("[\(numbers),\n{\"a\":\"x\"},\n{\"a\":7}]")
    let before = try CapturedRun.read(tool.path)
    let refused = try tool.run(["import", "@", repeated, "--unique"] + options)
    #expect(refused.code == .badInput && refused.output.isEmpty)
    #expect(refused.error.contains(#"line 5002: value 5002 has the key of value 8: "7""#), "\(refused.error)")
    #expect(refused.error.contains("Nothing was imported"))
    // A text that is invalid near its end is not written in part, either.
    let wrong = try source("[\(numbers),\n{\"a\":x}]")
    #expect(try tool.run(["import", "@", wrong, "--unique"] + options).code == .badInput)
    #expect(try CapturedRun.read(tool.path) == before)
    let replaced = try tool.run(["import", "@", repeated] + options)
    #expect(replaced.code == .success && replaced.output.contains("2 values replaced"), "\(replaced.output)")
    // The check ignores keys that already exist but occur only once in the source.
    #expect(try tool.run(["import", "@", first, "--unique"] + options).output.contains("2 values replaced"))
    try tool.expectSound()
  }

  @Test func `standard input cannot be read twice`() throws {
    let tool = try ToolRun()
    let result = try tool("import", "@", "-", "--unique", "--key", "a")
    #expect(result.code == .usage && result.error.contains("standard input can be read only once"))
    try #expect(!FileVolume().exists(tool.path))
  }

  @Test func `objects around the array count towards the limit of depth`() throws {
    func nested(_ depth: Int) -> String {
      #"{"a":{"b":["# + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "]}}"
    }
    #expect(try imported(nested(509), "--at", "a.b", "--entries").1.code == .success)
    #expect(try imported(nested(510), "--at", "a.b", "--entries").1.code == .badInput)
  }

  @Test func `ids and documents that cannot be saved are refused before anything is saved`() throws {
    let good = (0..<2500).map { #"{"id":"d\#($0)","n":\#($0)}"# }.joined(separator: "\n") + "\n"
    let long = String(repeating: "x", count: 8001)
    for (line, words) in [
      (#"{"id":"_AYM"}"#, "underscore"), (#"{"id":"\#(long)"}"#, "8001 bytes"), (#"{"id":"a\u0001"}"#, "U+1"),
      (#"{"id":"x","_rev":"1-a"}"#, "_rev"), (#"{"id":"d7"}"#, "d7"),
    ] {
      let (tool, result) = try imported(good + line + "\n", "--documents", "--id", "id", "--unique")
      #expect(result.code == .badInput, "\(result.error)")
      #expect(result.error.contains(words), "\(result.error)")
      #expect(
        result.error.contains("line 2501") && result.error.unwrapped.contains("Nothing was imported"),
        "\(result.error)")
      #expect(try !FileVolume().exists(tool.path), "a database was created")
    }
    // Of entries, keys.
    let (_, entries) = try imported(
      #"{"id":"\#(String(repeating: "x", count: 16_385))"}"# + "\n{\"id\":\"b\"}", "--key", "id", "--unique")
    #expect(entries.code == .badInput && entries.error.contains("16385 bytes"), "\(entries.error)")
    // Without the option, earlier batches are kept, and the message reports how many documents.
    let (tool, result) = try imported(good + #"{"id":"_AYM"}"# + "\n", "--documents", "--id", "id")
    #expect(result.code == .badInput && result.error.contains("--id"), "\(result.error)")
    #expect(result.error.unwrapped.contains("2,000 values"), "\(result.error)")
    try tool.expectSound()
  }

  @Test func `a file whose documents exchange unique values is imported again`() throws {
    // Each document takes the value of another one, up to half a file away.
    func lines(_ shift: Int, _ count: Int) -> String {
      (0..<count).map { #"{"id":"d\#($0)","seat":\#(($0 + shift) % count)}"# }.joined(separator: "\n")
    }
    let count = 2600
    let (tool, result) = try imported(lines(0, count), "--documents", "--id", "id")
    #expect(result.code == .success)
    #expect(try tool("index", "create", "@", "seat", "seat", "--unique").code == .success)
    for shift in [1, 700, 1300] {
      let source = "\(tool.directory)/\(shift).json"
      try write(lines(shift, count), source)
      let again = try tool.run(["import", "@", source, "--documents", "--id", "id"])
      #expect(again.code == .success && again.output.contains("2,600 values replaced"), "\(again)")
      #expect(try tool("find", "@", #"{"seat":5}"#).lines.count == 1)
    }
    // Equal values at the end: both are named, and the batch is not kept.
    let source = "\(tool.directory)/equal.json"
    try write(
      #"{"id":"x1","seat":-1}"# + "\n" + #"{"id":"x2","seat":-5}"# + "\n" + #"{"id":"x3","seat":-5}"#, source)
    let refused = try tool.run(["import", "@", source, "--documents", "--id", "id"])
    #expect(refused.code == .no, "\(refused)")
    #expect(refused.error.contains("x2") && refused.error.contains("x3") && refused.error.contains("seat"))
    #expect(try tool("doc", "get", "@", "x1").code == .no)
    try tool.expectSound()
  }

  private func write(_ text: String, _ path: String) throws {
    let device = try FileVolume().open(path, .createExclusive(permissions: 0o600))
    try Array(text.utf8).withUnsafeBytes { try device.write($0, at: 0) }
    device.close()
  }
}

extension String {
  /// The text without the line breaks for a narrow terminal.
  fileprivate var unwrapped: String {
    split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }
}
