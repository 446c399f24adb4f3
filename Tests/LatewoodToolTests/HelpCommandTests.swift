import Testing

@testable import LatewoodTool

/// `latewood help` covers documents as well as keys and values, the shell's help covers the
/// commands of the shell, and `info` shows keyspaces that do not belong to the user only on
/// request.
@Suite struct HelpCommandTests {
  @Test func `help and the manual page describe a database of documents or key-values`() throws {
    let tool = try ToolRun()
    let what = "a database of documents or key-values in one file"
    #expect(try tool("help").output.hasPrefix("latewood: \(what)\n"))
    #expect(try tool("help", "--man").output.contains("latewood \\- \(what)\n"))
  }

  @Test func `help lists the commands in groups`() throws {
    let tool = try ToolRun()
    let lines = try tool("help").output.split(separator: "\n").map(String.init)
    let titles = ["DOCUMENTS", "QUERIES", "FILES", "ENTRIES: KEYS AND VALUES", "LOOKING INSIDE"]
    let places = titles.compactMap { lines.firstIndex(of: $0) }
    #expect(places.count == titles.count && places == places.sorted())
    for (title, name) in [
      ("DOCUMENTS", "import"), ("QUERIES", "query"), ("FILES", "compact"),
      ("ENTRIES: KEYS AND VALUES", "put"), ("LOOKING INSIDE", "inspect"),
    ] {
      let group = lines[(lines.firstIndex(of: title) ?? 0)...].dropFirst().prefix { $0.hasPrefix(" ") }
      #expect(group.contains { $0.hasPrefix("  \(name) ") }, "\(title)")
    }
    #expect(!lines.contains { $0.hasPrefix("  frames ") })
    // Each command of help is in one group.
    let grouped = CommandTable.groups.flatMap(\.commands).map(\.name)
    let shown = CommandTable.commands.filter { !$0.isHidden && !$0.isInspection }.map(\.name)
    #expect(grouped == shown && Set(grouped).count == grouped.count)
  }

  @Test func `the parts of inspect have their old names, too`() throws {
    let tool = try ToolRun()
    try #expect(tool("put", "@", "k", "v").code == .success)
    for line in [
      ["tree", "@"], ["frames", "@"], ["frame", "@", "0"], ["hex", "@", "0", "--length", "64"],
      ["map", "@", "--json"],
    ] {
      let (old, new) = (try tool.run(line), try tool.run(["inspect"] + line))
      #expect(new.code == .success && new.output == old.output && !new.output.isEmpty, "\(line)")
    }
    #expect(try tool("help", "map").output.contains("latewood inspect map DATABASE"))
    #expect(try tool("help", "inspect", "map").output == tool("help", "map").output)
    #expect(try tool("inspect", "map", "--help").output == tool("help", "map").output)
    #expect(try tool("help", "inspect").output.contains("frames: list the frames"))
    let wrong = try tool("inspect", "maps", "@")
    #expect(wrong.code == .usage && wrong.error.contains("Did you mean map?"), "\(wrong.error)")
    let option = try tool("inspect", "map", "@", "--colour")
    #expect(option.error.contains("`latewood inspect map` has no option"), "\(option.error)")
    #expect(try tool("help", "find", "map").code == .usage)
  }

  @Test func `help inside the shell lists only the commands available there`() {
    let style = Style(isColoured: false)
    let text = HelpText.shellOverview(of: CommandTable.groups, style: style)
    #expect(!text.contains("DATABASE") && !text.contains("latewood"))
    let lines = text.split(separator: "\n")
    for name in ["find", "doc", "put", "info"] { #expect(lines.contains { $0.hasPrefix("  \(name) ") }) }
    for name in ["shell", "demo", "completion"] { #expect(!lines.contains { $0.hasPrefix("  \(name) ") }) }
    #expect(lines.allSatisfy { $0.count <= 80 })
  }

  @Test func `info shows the keyspaces of documents only on request`() throws {
    let tool = try ToolRun()
    _ = try tool("doc", "put", "@", "anna", #"{"n":1}"#)
    let usual = try tool("info", "@").output
    #expect(!usual.contains("documents/_default") && usual.contains("internal keyspaces; --all lists them"))
    #expect(usual.contains("\ncollections\n"))
    let all = try tool("info", "@", "--all").output
    #expect(all.contains("documents/_default") && !all.contains("internal keyspace"))
    #expect(try tool("info", "@", "--json").output.contains("documents/_default"))
  }

  @Test func `info hides only the import records in a file of entries`() throws {
    let tool = try ToolRun()
    try CapturedRun.write(Array(#"[{"a":1}]"#.utf8), to: "\(tool.directory)/list.json")
    _ = try tool("import", "@", "\(tool.directory)/list.json", "--entries")
    let usual = try tool("info", "@").output
    #expect(usual.contains("  default  1 entry"))
    #expect(!usual.contains(".imports") && usual.contains("  1 internal keyspace; --all lists them"))
    #expect(try tool("info", "@", "--all").output.contains("  .imports"))
    let other = try ToolRun()
    _ = try other("put", "@", "k", "v")
    #expect(try !other("info", "@").output.contains("internal"))
  }
}
