@testable import LatewoodTool

/// Command lines for any command, made from its description: what the parser, help and completion
/// know is enough to call it.
struct CommandSamples {
  /// The database that the commands are about, and one to compare it with.
  var database: String
  var otherDatabase: String
  /// A JSON text.
  var source: String
  /// A path where nothing is: asked for anew for every line.
  var newPath: () -> String
  var keyspace = "users"
  var collection = "_default"
  var key = "greeting"

  /// Options that make a command wait for something that does not come.
  static let endless: Set<String> = ["--follow", "--watch"]
  /// Calls nothing of the command.
  static let idle: Set<String> = ["--help"]
  /// Commands that may change the file. All others leave every byte of it as it is.
  static let writing: Set<String> = [
    "put", "delete", "import", "compact", "backup", "doc", "expiry", "demo-writer",
  ]

  /// The commands that work on a file and come to an end.
  static var commands: [CommandDescription] {
    CommandTable.commands.filter { !$0.isHidden && $0.databaseOperand != nil && $0.name != "shell" }
  }

  /// The command with the operands that it needs, and with all; with each of the words that an
  /// operand may be.
  func plain(_ command: CommandDescription) -> [[String]] {
    var lines: [[String]] = []
    for count in Set([command.requiredOperands, command.operands.count]).sorted() {
      var variants: [[String]] = [[command.name]]
      for operand in command.operands.prefix(count) {
        variants = variants.flatMap { line in
          values(of: operand.kind, operand.choices, isSecondDatabase: line.contains(database)).map {
            line + [$0]
          }
        }
      }
      lines += variants
    }
    return lines
  }

  /// Each plain line with each option alone.
  func withOptions(_ command: CommandDescription) -> [[String]] {
    command.allOptions.filter { !Self.endless.contains($0.name) && !Self.idle.contains($0.name) }.flatMap {
      option in
      plain(command).flatMap { line in
        guard let kind = option.kind else { return [line + [option.name]] }
        // Three bytes a second would take for ever, too.
        guard option != .rate else { return [line + [option.name, "1000000000"]] }
        return values(of: kind, option.choices, isSecondDatabase: true).map { line + [option.name, $0] }
      }
    }
  }

  private func values(of kind: ArgumentKind, _ choices: [String], isSecondDatabase: Bool) -> [String] {
    guard choices.isEmpty else { return choices }
    return switch kind {
    case .database: [isSecondDatabase ? otherDatabase : database]
    // Some commands read a database where others read a text.
    case .file: [source, otherDatabase]
    case .newFile: [newPath()]
    case .key: [key]
    case .value: [#"{"a":1}"#]
    case .keyspace: [keyspace]
    case .collection: [collection]
    case .command: ["info"]
    case .number: ["3", "16384"]
    case .text: ["x"]
    }
  }
}
