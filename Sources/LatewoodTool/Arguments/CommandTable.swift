import LatewoodBytes

/// All commands of the tool, in the order of help.
enum CommandTable {
  static let commands: [CommandDescription] = [
    .info, .size, .map, .tree, .frames, .frame, .hex, .stats, .verify, .salvage, .history, .diff, .get,
    .list, .put, .delete, .importing, .exporting, .compact, .copy, .backup, .collections, .doc,
    .find, .query, .index, .view, .changes, .blobs, .expiry, .prune, .upgrade, .replicate,
    .shell, .demo, .completion, .help, .demoWriter, .complete,
  ]

  static func command(named name: String) -> CommandDescription? {
    commands.first { $0.name == name }
  }

  static func unknown(_ name: [UInt8]) -> Failure {
    .usage(
      "unknown command \(Arguments.quoted(name))",
      advice: Suggestion.advice(
        for: String(decoding: name, as: UTF8.self), among: commands.filter { !$0.isHidden }.map(\.name),
        otherwise: "`latewood help` lists the commands. There is no file of this name either, for the shell.")
    )
  }
}
