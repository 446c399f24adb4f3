import LatewoodBytes

/// All commands of the tool, in the order of help.
enum CommandTable {
  /// Commands for one purpose.
  struct Group: Sendable {
    var title: String
    var commands: [CommandDescription]
  }

  static let groups: [Group] = [
    Group(
      title: "documents",
      commands: [
        .importing, .exporting, .collections, .doc, .changes, .blobs, .expiry, .prune, .replicate,
        .serve, .users,
      ]),
    Group(title: "queries", commands: [.find, .query, .index, .view]),
    Group(
      title: "files",
      commands: [
        .info, .size, .compact, .copy, .backup, .verify, .salvage, .history, .diff, .stats, .upgrade,
        .encrypt, .decrypt, .rekey, .anchor,
      ]),
    Group(title: "entries: keys and values", commands: [.get, .list, .put, .delete]),
    Group(title: "looking inside", commands: [.inspect]),
    Group(title: "the tool itself", commands: [.shell, .demo, .completion, .help]),
  ]

  static let commands: [CommandDescription] =
    groups.flatMap(\.commands) + inspections + [.demoWriter, .complete]

  /// The parts of `inspect`, which can also be called by their names alone.
  static let inspections: [CommandDescription] = [.tree, .frames, .frame, .hex, .map]

  static func command(named name: String) -> CommandDescription? {
    commands.first { $0.name == name }
  }

  /// Returns the words without the first if it is `inspect` and the second names a part of it.
  static func withoutInspect<Word>(_ words: [Word], name: (Word) -> String) -> [Word] {
    guard words.count > 1, name(words[0]) == CommandDescription.inspect.name,
      inspections.contains(where: { $0.name == name(words[1]) })
    else { return words }
    return Array(words.dropFirst())
  }

  static func unknown(_ name: [UInt8]) -> Failure {
    .usage(
      "unknown command \(Arguments.quoted(name))",
      advice: Suggestion.advice(
        for: String(decoding: name, as: UTF8.self), among: commands.filter { !$0.isHidden }.map(\.name),
        otherwise: "`latewood help` lists the commands. If it is a file to open, there is none with this "
          + "name.")
    )
  }
}
