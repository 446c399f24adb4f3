import Testing

@testable import LatewoodTool

@Suite struct ReplicateCommandTests {
  @Test func `a run copies new revisions, with deletions and conflicts`() throws {
    let tool = try ToolRun()
    let copy = "\(tool.directory)/copy.latewood"
    for id in ["a", "b", "c"] { #expect(try tool("doc", "put", "@", id, "{\"n\":1}").code == .success) }
    #expect(try tool("doc", "delete", "@", "b").code == .success)
    try tool.makeConflict()
    let first = try tool("replicate", "@", copy, "--create")
    #expect(first.code == .success && first.output.contains("5 revisions"), "\(first.error)")
    #expect(try tool("doc", "get", copy, "a").output == "{\"n\":1}\n")
    #expect(try tool("doc", "get", copy, "b").code == .no)
    #expect(try tool("doc", "list", copy, "--conflicts").output.contains("doc"))

    #expect(try tool("replicate", "@", copy).output.contains("0 revisions"))
    #expect(try tool("doc", "put", copy, "d", "{}").code == .success)
    let back = try tool("replicate", copy, "@", "--json")
    #expect(back.output.contains(#""written":1"#), "\(back.output)")
    #expect(try tool("doc", "get", "@", "d").output == "{}\n")
    try tool.expectSound()
  }

  @Test func `a selector and ids choose the copied documents`() throws {
    let tool = try ToolRun()
    let copy = "\(tool.directory)/copy.latewood"
    for n in 1...4 { #expect(try tool("doc", "put", "@", "d\(n)", "{\"n\":\(n)}").code == .success) }
    let selected = try tool("replicate", "@", copy, "--create", "--selector", #"{"n":{"$gt":3}}"#)
    #expect(selected.output.contains("1 revision"), "\(selected.error)")
    #expect(try tool("replicate", "@", copy, "--id", "d1", "--id", "d2").output.contains("2 revisions"))
    #expect(try tool("replicate", "@", copy, "--selector", "{").code == .badInput)
  }

  @Test(
    arguments: [
      (["replicate", "@"], ExitCode.usage), (["replicate", "@", "none.latewood"], .cannotOpen),
      (["replicate", "@", "http://ann:secret@localhost/people"], .usage),
      (["replicate", "@", "https://localhost/people"], .cannotOpen),
      (["replicate", "@", "http:///people"], .usage), (["replicate", "@", "@"], .usage),
      (["replicate", "@", "http://localhost/people", "--credentials", "none"], .cannotOpen),
      (["replicate", "@", "x", "--target-collection", "_x"], .usage),
      (["replicate", "@", "http://localhost/people", "--collection", "none"], .no),
    ] as [([String], ExitCode)])
  func `wrong operands are refused with advice, and without the password`(
    arguments: [String], code: ExitCode
  ) throws {
    let tool = try ToolRun()
    #expect(try tool("doc", "put", "@", "a", "{}").code == .success)
    let result = try tool.run(arguments)
    #expect(result.code == code, "\(result.error)")
    #expect(!result.error.isEmpty && !result.error.contains("secret"))
    // Both sides are closed again.
    #expect(try tool("doc", "put", "@", "b", "{}").code == .success)
  }
}
