import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodTool

/// `latewood import --documents --format couchdb`.
@Suite struct CouchDBImportTests {
  private func imported(_ text: String, _ options: String...) throws -> (ToolRun, ToolRun.Result) {
    let tool = try ToolRun()
    try CapturedRun.write(Array(text.utf8), to: "\(tool.directory)/dump.json")
    return (
      tool,
      try tool.run(["import", "@", "\(tool.directory)/dump.json", "--format", "couchdb"] + options)
    )
  }

  private static let dump = #"""
    {"total_rows":5,"offset":0,"rows":[
    {"id":"_design/x","key":"_design/x","value":{"rev":"1-a"},"doc":{"_id":"_design/x","_rev":"1-a","views":{}}},
    {"id":"a","key":"a","value":{"rev":"2-b"},"doc":{"_id":"a","_rev":"2-b","in":{"_id":1},"n":1.5,"\u005fx":2}},
    {"id":"b","key":"b","value":{"rev":"1-c","deleted":true},"doc":null},
    {"key":"c","error":"not_found"},
    {"id":"d","key":"d","value":{"rev":"1-d"},"doc":{"_id":"d \u00e9","_rev":"1-d","_attachments":{"x":{"stub":true}}}}
    ]}
    """#

  @Test func `documents keep their ids and lose the members that CouchDB adds`() throws {
    let (tool, result) = try imported(Self.dump, "--documents", "--json")
    #expect(result.code == .success, "\(result.error)")
    #expect(
      result.output.contains(
        #""format":"couchdb","values":5,"added":2,"replaced":0,"kept":0,"leftOut":3,"withoutAttachments":1"#))
    #expect(
      try tool("doc", "list", "@").lines.map { $0.split(separator: "\t").map(String.init) }.map {
        [$0[0], $0[$0.count - 1]]
      }
        == [["a", #"{"in":{"_id":1},"n":1.5}"#], ["d é", "{}"]])
    #expect(try tool("doc", "revisions", "@", "a", "--json").output.contains(#""revision":"1-"#))
    try tool.expectSound()
    let (_, shown) = try imported(Self.dump, "--documents")
    #expect(shown.output.contains("3 values left out: deleted and design documents."))
    #expect(shown.output.contains("The attachments of 1 document were left out."))
  }

  @Test(
    arguments: [
      ("[]", "the text is not an object"), (#"{"total_rows":1}"#, #"no member "rows""#),
      (#"{"rows":{}}"#, #""rows" is not an array"#), (#"{"rows":[1]}"#, "this row is not an object"),
      (#"{"rows":[{"id":"a","value":{}}]}"#, "this row has no document"),
      (#"{"rows":[{"id":"a","doc":1}]}"#, "the document of this row is not an object"),
      (#"{"rows":[{"id":1,"doc":{}}]}"#, "the document of this row has no id"),
      (#"{"rows":[{"id":"a","doc":{"_id":"\ud800"}}]}"#, "the document of this row has no id"),
    ])
  func `a text that is not a dump is refused with the request to make one`(text: String, reason: String)
    throws
  {
    let (_, result) = try imported(text, "--documents")
    #expect(result.code == .badInput && result.error.contains(reason), "\(result.error)")
    #expect(result.error.contains("_all_docs?include_docs=true") && result.error.contains("line 1"))
  }

  @Test func `truncated text, invalid ids and unsuitable options are refused`() throws {
    let (_, early) = try imported(#"{"rows":[{"id":"a","doc":{}}"#, "--documents")
    #expect(early.code == .badInput && early.error.contains("the text ends inside an array"))
    let (_, id) = try imported(#"{"rows":[{"id":"_x","doc":{}}]}"#, "--documents")
    #expect(id.code == .badInput && id.error.contains("starts with an underscore"))
    for options in [
      ["--entries"], ["--key", "a"], ["--documents", "--id", "a"], ["--documents", "--at", "rows"],
    ] {
      let tool = try ToolRun()
      try CapturedRun.write(Array(Self.dump.utf8), to: "\(tool.directory)/dump.json")
      let result = try tool.run(
        ["import", "@", "\(tool.directory)/dump.json", "--format", "couchdb"] + options)
      #expect(result.code == .usage, "\(options): \(result.error)")
    }
  }

  @Test func `a dump is not imported as a single document by mistake`() throws {
    let tool = try ToolRun()
    let path = "\(tool.directory)/dump.json"
    try CapturedRun.write(Array(Self.dump.utf8), to: path)
    let refused = try tool("import", "@", path, "--documents")
    #expect(refused.code == .badInput && refused.output.isEmpty)
    #expect(refused.error.contains("_all_docs") && refused.error.contains("--format couchdb"))
    #expect(try tool("import", "@", path, "--documents", "--format", "document").code == .success)
    for text in [#"{"total_rows":1,"x":[]}"#, #"{"n":1,"total_rows":1,"rows":[]}"#, #"{"rows":[1]}"#] {
      try CapturedRun.write(Array(text.utf8), to: path)
      #expect(try tool("import", "@", path, "--documents").code == .success, "\(text)")
    }
  }

  @Test func `a dump can be imported into a collection that already has documents`() throws {
    let (tool, _) = try imported(Self.dump, "--documents")
    let again = try tool("import", "@", "\(tool.directory)/dump.json", "--documents", "--format", "couchdb")
    #expect(again.code == .success && again.output.contains("2 values replaced"), "\(again.error)")
    #expect(try tool("doc", "get", "@", "a").output == #"{"in":{"_id":1},"n":1.5}"# + "\n")
  }
}
