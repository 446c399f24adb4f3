import LatewoodDocuments
import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import LatewoodTool

/// `latewood view`, for views that a program has created.
@Suite struct ViewCommandTests {
  private func filled() throws -> ToolRun {
    let tool = try ToolRun()
    for number in 0..<4 {
      try #expect(tool("doc", "put", "@", "d\(number)", #"{"n":\#(number * 3 % 4)}"#).code == .success)
    }
    try tool.database { store, collection in
      let view = ViewDefinition("by n", version: 7, reduction: .count) { document, emit in
        let number = try document.body.dictionary()?.value(for: "n")
        if document.id == "d3" { emit.fail("it is the last one") }
        emit.emit(number)
      }
      try store.register(view, of: collection)
      try store.catchUp(view, of: collection)
    }
    return tool
  }

  @Test func `views are listed with their rows, and marked as behind after other writes`() throws {
    let tool = try filled()
    #expect(try tool("view", "@").lines == ["by n  version 7  count  3 rows  1 failures"])
    #expect(try tool("view", "rows", "@", "by n").lines == ["0  d0  null", "2  d2  null", "3  d1  null"])
    #expect(try tool("view", "rows", "@", "by n", "--skip", "1", "--limit", "1").lines == ["2  d2  null"])
    #expect(try tool("view", "failures", "@", "by n").lines == ["d3  it is the last one"])
    try #expect(tool("doc", "put", "@", "d9", #"{"n":9}"#).code == .success)
    #expect(
      try tool("view", "list", "@").lines == ["by n  version 7  count  3 rows  1 failures  behind by 1"])
    #expect(
      try tool("view", "rows", "@", "by n", "--json").output.contains(#"{"id":"d0","key":0,"value":null}"#))
    #expect(
      try tool("view", "failures", "@", "by n", "--json").output.contains(#""reason":"it is the last one""#))
    #expect(try tool("view", "@", "--json").output.contains(#""version":7,"reduction":"count","rows":3"#))
    #expect(try tool("verify", "@").code == .success)
  }

  @Test func `a view can be dropped, and a missing one is reported`() throws {
    let tool = try filled()
    try #expect(tool("view", "drop", "@", "by n").code == .success)
    try #expect(tool("view", "drop", "@", "by n").code == .no)
    try #expect(tool("view", "rows", "@", "by n").code == .no)
    #expect(try tool("view", "@").lines.isEmpty)
    try #expect(tool("view", "rows", "@").code == .usage)
    try #expect(tool("view", "list", "@", "--limit", "3").code == .usage)
  }
}
