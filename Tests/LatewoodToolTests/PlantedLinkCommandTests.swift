import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodTool

/// Somebody else can create files in the directory to which a command writes: names that it will
/// use may be taken by symbolic links.
@Suite struct PlantedLinkCommandTests {
  private let directory: ToolDirectory

  init() throws {
    directory = try ToolDirectory()
    try directory.makeDatabase("a", count: 20)
    try directory.write(Array("as it was".utf8), to: "victim")
    try Directories.setPermissions(directory.file("victim"), 0o644)
  }

  /// Returns the target of a planted link: a file that nobody may write to, or a path where no file
  /// may be created.
  private func lead(_ leadsNowhere: Bool) -> String { directory.file(leadsNowhere ? "nowhere" : "victim") }

  private func permissions(of name: String) throws -> UInt16 {
    let device = try FileVolume().open(directory.file(name), .readOnly)
    defer { device.close() }
    return try device.permissions()
  }

  private func checkVictims(sourceLocation: SourceLocation = #_sourceLocation) throws {
    #expect(try directory.bytes(of: "victim") == Array("as it was".utf8), sourceLocation: sourceLocation)
    #expect(try permissions(of: "victim") == 0o644, sourceLocation: sourceLocation)
    #expect(try !FileVolume().exists(directory.file("nowhere")), sourceLocation: sourceLocation)
  }

  /// The commands that write a file beside the database, each to `target`.
  private var commands: [[String]] {
    let (database, target) = (directory.file("a"), directory.file("target"))
    return [
      ["export", database, target, "--keyspace", "fruit"], ["map", database, "--svg", target],
      ["salvage", database, target], ["copy", database, target], ["backup", database, target],
    ]
  }

  @Test(arguments: [true, false])
  func `a link in place of an unfinished file is removed and not followed`(_ leadsNowhere: Bool) throws {
    let suffixes = [
      ".exporting", ".salvaging", ".salvaging.lock", ".salvaging.creating", ".compacting", ".backing-up",
      ".creating",
    ]
    for command in commands {
      for suffix in suffixes {
        try Directories.makeSymbolicLink(directory.file("target" + suffix), to: lead(leadsNowhere))
      }
      let run = CapturedRun(command)
      #expect(run.code == .success, "\(command[0]): \(run.error)")
      try checkVictims()
      #expect(try permissions(of: "target") == 0o600, "\(command[0])")
      #expect(try FileVolume().resolved(directory.file("target")).hasSuffix("/target"), "\(command[0])")
      for name in try Directories.names(in: directory.path) where name.hasPrefix("target") {
        try FileVolume().remove(directory.file(name))
      }
    }
  }

  @Test(arguments: [true, false])
  func `a link in place of the target is refused and kept`(_ leadsNowhere: Bool) throws {
    let target = directory.file("target")
    let creating = [
      ["put", target, "key", "value"], ["doc", "put", target, "id", "{}"],
      ["import", target, directory.file("source.json")],
      ["import", "--documents", target, directory.file("source.json")],
    ]
    try directory.write(Array(#"[{"n": 1}]"#.utf8), to: "source.json")
    for command in commands + creating {
      try Directories.makeSymbolicLink(target, to: lead(leadsNowhere))
      let run = CapturedRun(command)
      #expect(run.code != .success, "\(command[0])")
      #expect(run.error.contains("symbolic link to \(lead(true))") == leadsNowhere, "\(run.error)")
      #expect(run.error.contains("remove the link") == leadsNowhere, "\(run.error)")
      try checkVictims()
      #expect(try Directories.names(in: directory.path).contains("target"), "\(command[0])")
      #expect(try FileVolume().exists(target) == !leadsNowhere, "\(command[0])")
      for name in try Directories.names(in: directory.path) where name.hasPrefix("target") {
        try FileVolume().remove(directory.file(name))
      }
    }
  }

  @Test func `a file that appears during an export is not overwritten`() throws {
    let target = directory.file("target")
    let failure = #expect(throws: Failure.self) {
      try ExportTarget.write(to: target, on: ToolDirectory.console()) { output in
        try output.write(Array("exported".utf8))
        try directory.write(Array("mine".utf8), to: "target")
      }
    }
    #expect(failure?.code == "alreadyExists")
    #expect(try directory.bytes(of: "target") == Array("mine".utf8))
    #expect(try Directories.names(in: directory.path).sorted() == ["a", "a.lock", "target", "victim"])
  }

  @Test(arguments: [true, false])
  func `the shell saves no history through a link in its place`(_ leadsNowhere: Bool) throws {
    let history = directory.file("history")
    try Directories.makeSymbolicLink(history, to: lead(leadsNowhere))
    let failure = #expect(throws: Failure.self) { _ = try ShellHistory(path: history) }
    #expect(failure?.path == history && failure?.advice.contains("link") == true)
    try checkVictims()
    // Planted while the shell is running.
    try FileVolume().remove(history)
    var lines = try ShellHistory(path: history)
    try FileVolume().remove(history)
    try Directories.makeSymbolicLink(history, to: lead(leadsNowhere))
    #expect(throws: Failure.self) { try lines.add("put password secret") }
    try checkVictims()
  }

  @Test(arguments: [true, false])
  func `a long history is shortened without following a link`(_ leadsNowhere: Bool) throws {
    let line = String(repeating: "x", count: 2000) + "\n"
    try directory.write(Array(String(repeating: line, count: 600).utf8), to: "history")
    try Directories.makeSymbolicLink(directory.file("history.shorter"), to: lead(leadsNowhere))
    #expect(try !ShellHistory(path: directory.file("history")).lines.isEmpty)
    try checkVictims()
    #expect(try directory.bytes(of: "history").count <= 1 << 20)
    #expect(try permissions(of: "history") == 0o600)
  }
}
