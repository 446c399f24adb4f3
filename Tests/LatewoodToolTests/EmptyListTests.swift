import LatewoodFleece
import Testing

@testable import LatewoodTool

/// The output of listing commands when there is nothing to list.
@Suite struct EmptyListTests {
  private static let ofDocuments: [([String], String, String)] = [
    (["index", "@"], "no indexes; `latewood index create`", #""indexes":[]"#),
    (["expiry", "@"], "No document of the collection _default expires", #""expiring":[]"#),
    (["blobs", "@"], "The file has no blobs", #""blobs":[]"#),
    (["changes", "@", "--since", "1"], "has no changes after sequence 1", #""changes":[]"#),
    (["find", "@", #"{"n":2}"#], "No documents were found", #""documents":[]"#),
    (["query", "@", "SELECT n FROM _ WHERE n = 2"], "returns no rows", #""rows":[]"#),
    (["doc", "conflicts", "@", "a"], #"The document "a" has no conflicts"#, #""revisions":[]"#),
  ]

  @Test(arguments: ofDocuments)
  func `an empty list prints a remark, or an empty array in JSON`(
    arguments: [String], remark: String, array: String
  ) throws {
    let tool = try ToolRun()
    try #expect(tool("doc", "put", "@", "a", #"{"n":1}"#).code == .success)
    try expectEmpty(tool, arguments, remark, array)
  }

  @Test func `a selector with a member that no document has is pointed out`() throws {
    let tool = try ToolRun()
    try #expect(tool("doc", "put", "@", "a", #"{"title":"Alien","year":1979}"#).code == .success)
    let misspelt = try tool("find", "@", #"{"titel":"Alien","year":1980}"#)
    #expect(misspelt.error.contains("No document has the member titel."), "\(misspelt.error)")
    for line in [
      ["find", "@", #"{"titel":"x"}"#, "--count"],
      ["query", "@", "SELECT * FROM _ WHERE titel = 'x'"],
      ["query", "@", "SELECT * FROM _ WHERE titel = 'x'", "--csv"],
    ] {
      #expect(try tool.run(line).error.contains("No document has the member titel."), "\(line)")
    }
    #expect(!misspelt.error.contains("member year"))
    let other = try tool("find", "@", #"{"title":"Brazil"}"#)
    #expect(!other.error.contains("has the member"), "\(other.error)")
  }

  @Test func `an empty keyspace and an empty range get different remarks`() throws {
    let tool = try ToolRun()
    try #expect(tool("put", "@", "a", "1").code == .success)
    try expectEmpty(
      tool, ["list", "@", "--prefix", "b"], "No keys in this range; the keyspace default has 1 entry",
      #""entries":[]"#)
    try #expect(tool("list", "@", "--limit", "0").error.isEmpty)
    try #expect(tool("delete", "@", "a").code == .success)
    try expectEmpty(tool, ["list", "@"], "The keyspace default is empty", #""entries":[]"#)
  }

  @Test func `a list that is not empty prints no remark`() throws {
    let tool = try ToolRun()
    try tool.makeConflict("a")
    try #expect(tool("index", "create", "@", "n", "n").code == .success)
    try #expect(tool("expiry", "set", "@", "a", "+7d").code == .success)
    try tool.database { store, _ in _ = try store.putBlob([1]) }
    for arguments in Self.ofDocuments.map(\.0) + [["find", "@", #"{"n":2}"#, "--count"]] {
      let full = arguments.map { $0 == #"{"n":2}"# ? "{}" : $0.replacing(" WHERE n = 2", with: "") }
      let result = try tool.run(full)
      #expect(result.code == .success && result.error.isEmpty && !result.output.isEmpty, "\(full)")
    }
  }

  @Test(arguments: [["list", "@"], ["get", "@", "a"], ["export", "@", "--entries"]])
  func `on a file of documents, commands for entries point to the ones for documents`(arguments: [String])
    throws
  {
    let tool = try ToolRun()
    try #expect(tool("doc", "put", "@", "a", "{}").code == .success)
    let result = try tool.run(arguments)
    #expect(result.code == .no && result.output.isEmpty)
    #expect(result.error.contains("`latewood doc list` lists them"), "\(result.error)")
    #expect(!result.error.contains("give --documents"))
    try #expect(tool("find", "@").code == .success)
    try #expect(tool("export", "@", "--documents").code == .success)
  }

  private func expectEmpty(
    _ tool: ToolRun, _ arguments: [String], _ remark: String, _ array: String
  ) throws {
    let shown = try tool.run(arguments)
    #expect(shown.code == .success && shown.output.isEmpty)
    #expect(shown.error.contains(remark) && shown.error.hasSuffix(".\n"), "\(shown.error)")
    let json = try tool.run(arguments + ["--json"])
    #expect(json.code == .success && json.error.isEmpty && json.output.contains(array), "\(json.output)")
    #expect(JSON.compact(Array(json.output.utf8)) != nil)
  }
}
