import LatewoodDevice
import LatewoodDocuments
import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import LatewoodTool

@Suite struct DocumentCommandTests {
  @Test func `put creates revisions, and refuses to overwrite one that was not read`() throws {
    let tool = try ToolRun()
    let first = try tool("doc", "put", "@", "a", #"{"n":1}"#)
    #expect(first.code == .success && first.lines.count == 1 && first.output.hasPrefix("1-"))
    let again = try tool("doc", "put", "@", "a", #"{"n":2}"#)
    #expect(again.code == .no)
    #expect(again.error.contains(first.lines[0]) && again.error.contains("--revision"))
    let second = try tool("doc", "put", "@", "a", #"{"n":2}"#, "--revision", first.lines[0])
    #expect(second.code == .success && second.output.hasPrefix("2-"))
    let late = try tool("doc", "put", "@", "a", #"{"n":3}"#, "--revision", first.lines[0])
    #expect(late.code == .no && late.error.contains(second.lines[0]) && late.error.contains("--force"))
    #expect(try tool("doc", "get", "@", "a").output == "{\"n\":2}\n")
    #expect(try tool("doc", "put", "@", "a", #"{"n":4}"#, "--force").output.hasPrefix("3-"))
    #expect(try tool("doc", "get", "@", "a").output == "{\"n\":4}\n")
    #expect(try tool("doc", "get", "@", "a", "--revision", "1-").output == "{\"n\":1}\n")
    try tool.expectSound()
  }

  @Test(
    arguments: [
      (["doc", "put", "@", "a", "{"], ExitCode.badInput), (["doc", "put", "@", "a", "[1]"], .badInput),
      (["doc", "put", "@", "a", #"{"_rev":1}"#], .badInput), (["doc", "put", "@", "_a", "{}"], .badInput),
      (["doc", "put", "@", "a"], .usage), (["doc", "put", "@"], .usage), (["doc", "put"], .usage),
      (["doc", "put", "@", "a", "{}", "--collection", "_x"], .usage),
      (["doc", "put", "@", "a", "{}", "--revision", "1-", "--force"], .usage),
      (["doc", "put", "@", "a", "{}", "--file", "x"], .usage),
      (["doc", "put", "@", "a", "--file", "x"], .cannotOpen),
      (["doc", "resolve", "@", "a"], .usage), (["doc", "get", "@", "a", "{}"], .usage),
      (["doc", "get", "@", "a", "--force"], .usage), (["doc", "purge", "@", "a"], .cannotOpen),
    ] as [([String], ExitCode)])
  func `invalid arguments are refused before a database is created`(arguments: [String], code: ExitCode)
    throws
  {
    let tool = try ToolRun()
    let result = try tool.run(arguments)
    #expect(result.code == code, "\(result.error)")
    #expect(try !FileVolume().exists(tool.path))
    #expect(!result.error.isEmpty && result.output.isEmpty)
  }

  @Test func `a printed document with attachments from CouchDB can be put again`() throws {
    let tool = try ToolRun()
    let digest = BlobDigest(of: [1, 2, 3]).text
    let body = #"{"_attachments":{"a.txt":{"@type":"blob","digest":"\#(digest)","length":3}},"n":1}"#
    try #expect(tool("doc", "put", "@", "a", body).code == .success)
    #expect(try tool("doc", "get", "@", "a").output == body + "\n")
    for wrong in [
      #"{"_attachments":1}"#, #"{"_attachments":[]}"#, #"{"_attachments":{"a":{"data":"YQ=="}}}"#,
      #"{"_attachments":{"a":{"@type":"blob","digest":"sha256-x"}}}"#,
    ] {
      let refused = try tool("doc", "put", "@", "a", wrong, "--force")
      #expect(refused.code == .badInput && refused.error.contains("_attachments is reserved"), "\(wrong)")
    }
  }

  @Test func `find prints the documents that match, sorted, limited and counted`() throws {
    let tool = try ToolRun()
    for (id, body) in [
      ("a", #"{"n":3,"tags":["x"],"in":{"city":"Porto"}}"#), ("b", #"{"n":1,"tags":["x","y"]}"#),
      ("c", #"{"n":2.5,"tags":[]}"#), ("d", #"{"n":"text"}"#),
    ] {
      try #expect(tool("doc", "put", "@", id, body).code == .success)
    }
    try #expect(tool("doc", "delete", "@", "d").code == .success)
    let all = try tool("find", "@").lines
    #expect(all.count == 3 && all[0].hasPrefix(#"{"_id":"a","_rev":"1-"#) && all[0].contains(#""n":3"#))
    let found = try tool("find", "@", #"{"n": {"$gt": 1}}"#, "--sort", "n", "--fields", "_id,in.city")
    #expect(found.lines == [#"{"_id":"c"}"#, #"{"_id":"a","in":{"city":"Porto"}}"#])
    let last = try tool("find", "@", "{}", "--sort", "n:desc", "--limit", "1", "--skip", "1", "--fields", "n")
    #expect(last.lines == [#"{"n":2.5}"#])
    #expect(try tool("find", "@", #"{"tags": {"$all": ["x"]}}"#, "--count").lines == ["2"])
    let json = try tool("find", "@", #"{"_id": {"$gte": "b"}}"#, "--fields", "n", "--json").output
    #expect(json == #"{"collection":"_default","documents":[{"n":1},{"n":2.5}],"count":2,"read":2}"# + "\n")
  }

  @Test(
    arguments: [
      (["find", "@", "{"], ExitCode.badInput, "line 1"),
      (["find", "@", #"{"n":{"$gtt":1}}"#], .badInput, "n.$gtt"),
      (["find", "@", "{}", "--sort", "a,,b"], .usage, "a name is empty"),
      (["find", "@", "{}", "--fields", "a..b"], .usage, "a name is empty"),
      (["find", "@", "{}", "--count", "--sort", "n"], .usage, "--count"),
      (["find", "@", "{}", "--collection", "none"], .no, "none"),
    ] as [([String], ExitCode, String)])
  func `find reports an error with its position`(arguments: [String], code: ExitCode, text: String) throws {
    let tool = try ToolRun()
    try #expect(tool("doc", "put", "@", "a", #"{"n":3}"#).code == .success)
    let result = try tool.run(arguments)
    #expect(result.code == code && result.error.contains(text), "\(result.error)")
    #expect(result.output.isEmpty)
  }

  @Test func `delete leaves a tombstone that a later put continues`() throws {
    let tool = try ToolRun()
    try _ = tool("doc", "put", "@", "a", #"{"n":1}"#)
    #expect(try tool("doc", "delete", "@", "a", #"{"why":"old"}"#).output.hasPrefix("2-"))
    #expect(try tool("doc", "get", "@", "a").code == .no)
    #expect(try tool("doc", "delete", "@", "a").code == .no)
    #expect(try tool("doc", "get", "@", "a", "--revision", "2-").output == "{\"why\":\"old\"}\n")
    #expect(try tool("doc", "put", "@", "a", #"{"n":3}"#).output.hasPrefix("3-"))
    #expect(try tool("doc", "delete", "@", "a", "--revision", "1-").code == .no)
    #expect(try tool("doc", "delete", "@", "none").code == .no)
    try tool.expectSound()
  }

  @Test func `purge removes a document, or one branch of it`() throws {
    let tool = try ToolRun()
    try tool.makeConflict()
    #expect(try tool("doc", "purge", "@", "doc", "--revision", "1-").code == .no)
    #expect(try tool("doc", "purge", "@", "doc", "--revision", "2-ff").output == "2-ff\n")
    #expect(try tool("doc", "conflicts", "@", "doc").output == "")
    #expect(try tool("doc", "purge", "@", "doc", "--json").output.contains(#""purged":["2-"#))
    #expect(try tool("doc", "revisions", "@", "doc").code == .no)
    #expect(try tool("doc", "purge", "@", "doc").code == .no)
    try tool.expectSound()
  }

  @Test func `a conflict is drawn, listed, and resolved by choice or by merging`() throws {
    for merged in [nil, #"{"n":"both"}"#] {
      let tool = try ToolRun()
      try tool.makeConflict()
      let drawn = try tool("doc", "revisions", "@", "doc").lines
      #expect(drawn.count == 3)
      #expect(drawn[1].hasPrefix("├─ 2-") && drawn[1].contains("conflict"))
      #expect(drawn[2].hasPrefix("└─ 2-ff  winner"))
      #expect(try tool("doc", "conflicts", "@", "doc").lines.count == 1)
      #expect(try tool("doc", "resolve", "@", "doc", "--revision", "1-").code == .no)
      let ours = String(drawn[1].dropFirst(3).prefix(8))
      let result =
        if let merged {
          try tool("doc", "resolve", "@", "doc", merged)
        } else {
          try tool("doc", "resolve", "@", "doc", "--revision", ours)
        }
      #expect(result.code == .success, "\(result.error)")
      #expect(try tool("doc", "get", "@", "doc").output == (merged ?? #"{"n":2}"#) + "\n")
      #expect(try tool("doc", "conflicts", "@", "doc").output == "")
      #expect(try tool("doc", "resolve", "@", "doc", "{}").code == .no)
      try tool.expectSound()
    }
  }

  @Test func `changes are listed in order, with documents and leaves, after any sequence`() throws {
    let tool = try ToolRun()
    for n in 1...5 { _ = try tool("doc", "put", "@", "d\(n)", "{\"n\":\(n)}") }
    _ = try tool("doc", "delete", "@", "d2")
    try tool.makeConflict("c")
    let all = try tool("changes", "@").lines
    #expect(all.count == 6 && all[5].hasSuffix("c  conflict") && all[4].hasSuffix("d2  deleted"))
    for line in all { #expect(DisplayWidth.of(line) <= 80) }
    #expect(try tool("changes", "@", "--descending", "--limit", "1").lines == [all[5]])
    #expect(try tool("changes", "@", "--since", "6").lines == [all[5]])
    let json = try tool("changes", "@", "--since", "4", "--json", "--documents", "--all-leaves").output
    #expect(json.contains(#""id":"d5","revision":"1-"#) && json.contains(#""document":{"n":5}"#))
    #expect(json.contains(#""lastSequence":9}"#) && json.contains(#""leaves":["2-ff","2-"#))
    let pretty = try tool("changes", "@", "--since", "4", "--json", "--documents", "--all-leaves", "--pretty")
    #expect(pretty.output.hasPrefix("{\n  \"collection\": \"_default\",\n  \"changes\": [\n    {\n"))
    #expect(pretty.output.hasSuffix("\n  \"lastSequence\": 9\n}\n"))
    #expect(JSON.compact(Array(pretty.output.utf8)) == Array(json.utf8.dropLast()))
    #expect(try tool("changes", "@", "--json", "--pretty", "--compact").code == .usage)
    #expect(try tool("changes", "@", "--timeout", "1").code == .usage)
    #expect(try tool("changes", "@", "--follow", "--descending").code == .usage)
  }

  @Test func `old revisions and their bodies are pruned, and a dry run only counts them`() throws {
    let tool = try ToolRun()
    for n in 1...6 { _ = try tool("doc", "put", "@", "a", "{\"n\":\(n)}", "--force") }
    for n in 1...3 { _ = try tool("doc", "put", "@", "b", "{\"n\":\(n)}", "--force") }
    try tool.makeConflict("c")
    #expect(try tool("prune", "@").output == "There is nothing to prune.\n")
    let dry = try tool("prune", "@", "--keep", "2", "--dry-run", "--json").output
    #expect(dry.hasPrefix(#"{"dryRun":true,"keep":2,"documents":2,"revisions":5,"bodies":5,"#))
    let text = try tool("prune", "@", "--keep", "2", "--dry-run").output
    #expect(text.hasPrefix("It would remove 5 revisions of 2 documents"))
    let before = try tool("doc", "revisions", "@", "a").lines.count
    #expect(try tool("prune", "@", "--keep", "2", "--json").output == dry.replacing("true", with: "false"))
    #expect(try tool("doc", "revisions", "@", "a").lines.count == before - 4)
    #expect(try tool("doc", "get", "@", "a").output.contains("6"))
    #expect(try tool("prune", "@", "--keep", "2").output == "There is nothing to prune.\n")
    #expect(try tool("prune", "@", "--keep", "1").output.contains("latewood compact"))
    #expect(try tool("prune", "@", "--keep", "0").code == .usage)
    #expect(try tool("verify", "@", "--deep").code == .success)
  }

  @Test func `following ends at its limit or its timeout`() throws {
    let tool = try ToolRun()
    for n in 1...3 { _ = try tool("doc", "put", "@", "d\(n)", "{}") }
    let two = try tool("changes", "@", "--follow", "--limit", "2", "--json")
    #expect(two.code == .success && two.lines.count == 2)
    for line in two.lines { #expect(JSON.compact(Array(line.utf8)) == Array(line.utf8), "\(line)") }
    let one = try tool("changes", "@", "--follow", "--limit", "1", "--json", "--pretty")
    #expect(one.lines.first == "{" && JSON.compact(Array(one.output.utf8)) == Array(two.lines[0].utf8))
    #expect(try tool("changes", "@", "--follow", "--timeout", "0").lines.count == 3)
    #expect(try tool("changes", "@", "--follow", "--timeout", "0", "--since", "now").output == "")
  }

  @Test func `expirations are listed by time, set and cleared`() throws {
    let tool = try ToolRun()
    for id in ["a", "b", "c"] { _ = try tool("doc", "put", "@", id, "{}") }
    #expect(try tool("expiry", "set", "@", "a", "2100-01-01T00:00:00Z").output == "2100-01-01 00:00:00  a\n")
    #expect(
      try tool("expiry", "set", "@", "b", "2099-01-01", "--json").output.contains(#""seconds":4070908800"#))
    #expect(try tool("expiry", "@").lines == ["2099-01-01 00:00:00  b", "2100-01-01 00:00:00  a"])
    #expect(try tool("expiry", "list", "@", "--limit", "1").lines.count == 1)
    #expect(try tool("expiry", "clear", "@", "b").code == .success)
    #expect(try tool("expiry", "@", "--json").output.contains(#""expiring":[{"id":"a""#))
    #expect(try tool("expiry", "set", "@", "none", "+1d").code == .no)
    #expect(try tool("expiry", "set", "@", "a", "soon").code == .usage)
    #expect(try tool("expiry", "set", "@", "a", "1").code == .success)
    // The next writing command finds it expired.
    _ = try tool("doc", "put", "@", "d", "{}")
    #expect(try tool("doc", "get", "@", "a").code == .no)
    try tool.expectSound()
  }

  @Test func `blobs are listed with their uses, and exported unchanged`() throws {
    let tool = try ToolRun()
    let content = (0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let digest = try tool.database { store, collection in
      let blob = try store.putBlob(content)
      _ = try store.putBlob([])
      let name = BlobListing.name(of: blob.digest)
      let body = try tool.body(#"{"x":{"@type":"blob","digest":"\#(name)"}}"#)
      try store.write { try $0.save("d", in: collection, body: body, parent: nil, blobs: [blob.digest]) }
      return blob.digest
    }
    let name = BlobListing.name(of: digest)
    let listed = try tool("blobs", "@").lines
    #expect(listed.count == 2)
    #expect(listed.contains { $0.hasPrefix(name) && $0.hasSuffix("1 reference") })
    #expect(listed.contains { $0.hasSuffix("unused") })
    for line in listed { #expect(DisplayWidth.of(line) <= 80) }
    #expect(try tool("blobs", "@", "--json").output.contains(#""bytes":2500000"#))
    let file = "\(tool.directory)/blob"
    for text in [name, Hex.encode(digest.bytes)] {
      #expect(try tool("blobs", "get", "@", text, "-o", "\(file)\(text.count)").code == .success)
      let device = try FileVolume().open("\(file)\(text.count)", .readOnly)
      var bytes = [UInt8](repeating: 0, count: Int(try device.size()))
      let count = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
      device.close()
      #expect(count == content.count && bytes == content)
    }
    #expect(try tool("blobs", "get", "@", name, "-o", "\(file)\(name.count)").code == .cannotOpen)
    #expect(try tool("blobs", "get", "@", Hex.encode(BlobDigest(of: [9]).bytes)).code == .no)
    #expect(try tool("blobs", "get", "@", "sha256-x").code == .usage)
  }
}

@Suite struct VerifyCommandTests {
  @Test func `deep verification names the document that cannot be decoded`() throws {
    let tool = try ToolRun()
    let revision = try tool("doc", "put", "@", "a", #"{"n":1}"#).lines[0]
    try tool.database { store, collection in
      let history = [try RevisionID("1-ff")]
      try store.write { try $0.insert("b", in: collection, history: history, body: [0xEE, 0xEE]) }
    }
    #expect(try tool("verify", "@").code == .success)
    let result = try tool("verify", "@", "--deep")
    #expect(result.code == .no && result.lines[0].hasPrefix("  _default/b, revision 1-"))
    let json = try tool("verify", "@", "--deep", "--json").output
    #expect(json.contains(#""faults":[{"collection":"_default","id":"b","revision":"1-"#))
    #expect(!json.contains(revision))
  }
}

@Suite struct RevisionDrawingTests {
  private func tree(_ histories: [[String]], deleted: Set<String> = []) throws -> RevisionTree {
    var tree = RevisionTree()
    for history in histories {
      let ids = try history.map { try RevisionID($0) }
      try tree.insert(history: ids, isDeleted: deleted.contains(history[0]), body: 1)
    }
    return tree
  }

  private func drawn(_ tree: RevisionTree) -> [String] {
    RevisionDrawing(tree, bodyLengths: [:]).lines(in: 80).map { line in
      #expect(DisplayWidth.of(line) == 80)
      return String(line.dropLast(12).reversed().drop { $0 == " " }.reversed())
    }
  }

  @Test func `branches are joined by lines, with the winner last`() throws {
    let tree = try tree(
      [
        ["3-ad", "2-ab", "1-aa"], ["3-ae", "2-ab", "1-aa"], ["4-b0", "3-af", "2-ac", "1-aa"],
        ["2-b1", "1-aa"],
      ], deleted: ["2-b1"])
    #expect(
      drawn(tree) == [
        "1-aa", "├─ 2-ab", "│  ├─ 3-ad  conflict", "│  └─ 3-ae  conflict", "├─ 2-b1  deleted", "└─ 2-ac",
        "   3-af", "   4-b0  winner",
      ])
  }

  @Test func `branches that pruning has separated are drawn side by side`() throws {
    #expect(drawn(try tree([["7-aa"], ["9-bb", "8-ba"]])) == ["7-aa  conflict", "8-ba", "9-bb  winner"])
  }

  @Test func `a drawn tree of any shape fits the width`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<50 {
      var histories: [[String]] = [["1-" + String(repeating: "ab", count: 20)]]
      for _ in 0..<60 {
        let parent = random.pick(histories)
        let digest = random.bytes(20).map { Hex.encode([$0]) }.joined()
        histories.append(["\(parent.count + 1)-\(digest)"] + parent)
      }
      let tree = try tree(histories)
      let lines = drawn(tree)
      #expect(lines.count == tree.nodes.count, "\(random.replay)")
      #expect(lines.count { $0.contains("winner") } == 1)
    }
  }

  @Test func `a document may refer to a blob that is added later, and then keeps it`() throws {
    let tool = try ToolRun()
    let content = [UInt8](repeating: 3, count: 5_000)
    let name = BlobListing.name(of: BlobDigest(of: content))
    let json = #"{"x":{"@type":"blob","digest":"\#(name)","length":5000}}"#
    #expect(try tool("doc", "put", "@", "a", json).code == .success)
    let lines = "\(tool.directory)/lines"
    let device = try FileVolume().open(lines, .createExclusive(permissions: 0o600))
    try Array(#"{"id":"b","p":\#(json)}"#.utf8).withUnsafeBytes { try device.write($0, at: 0) }
    device.close()
    #expect(try tool("import", "@", lines, "--documents", "--id", "id").code == .success)
    #expect(
      try tool("blobs", "@").lines.map { $0.split(separator: " ").dropFirst().joined(separator: " ") } == [
        "not here 2 references"
      ])
    #expect(
      try tool("blobs", "@", "--json").output
        == #"{"blobs":[{"digest":"\#(name)","references":2}],"bytes":0}"# + "\n")
    let missing = try tool("blobs", "get", "@", name)
    #expect(
      missing.code == .no && missing.error.contains("the content of the blob \(name) is not in the file"))
    let report = try tool("verify", "@", "--deep")
    #expect(report.code == .success && report.output.contains("refer to 1 more blob"), "\(report.output)")
    try tool.database { store, _ in _ = try store.putBlob(content) }
    #expect(try tool("compact", "@").code == .success)
    #expect(try tool("doc", "delete", "@", "a").code == .success)
    #expect(try tool("compact", "@").code == .success)
    #expect(try tool("blobs", "@", "--json").output.contains(#""length":5000,"references":1"#))
    #expect(try tool("verify", "@", "--deep", "--json").output.contains(#""missingBlobs":0"#))
    #expect(try tool("doc", "get", "@", "a").code == .no)
    #expect(try tool("export", "@", "--documents").output.contains(name))
  }
}
