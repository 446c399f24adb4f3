@testable import LatewoodTool

/// Command lines for any command, derived from its description: the data for parser, help and
/// completion are enough to call it.
struct CommandSamples {
  /// The database for the commands, and one to compare it with.
  var database: String
  var otherDatabase: String
  /// The path of a JSON text.
  var source: String
  /// Returns a path without a file. Called anew for every line.
  var newPath: () -> String
  var keyspace = "users"
  var collection = "_default"
  var key = "greeting"

  /// Options that make a command wait indefinitely.
  static let endless: Set<String> = ["--follow", "--watch", "--password-fd", "--new-password-fd"]
  /// Options that do not run the command.
  static let idle: Set<String> = ["--help"]
  /// Commands that may change the file. All others leave every byte of it unchanged.
  static let writing: Set<String> = [
    "put", "delete", "import", "compact", "backup", "doc", "expiry", "prune", "upgrade", "demo-writer",
    "encrypt", "decrypt", "rekey", "anchor",
  ]

  /// The commands that work on a file and terminate.
  static var commands: [CommandDescription] {
    CommandTable.commands.filter {
      !$0.isHidden && $0.databaseOperand != nil && $0.name != "shell" && $0.name != "serve"
    }
  }

  /// Returns lines with the required operands, and with all; one for each word that an operand may
  /// take.
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

  /// Returns each plain line with each single option.
  func withOptions(_ command: CommandDescription) -> [[String]] {
    command.allOptions.filter { !Self.endless.contains($0.name) && !Self.idle.contains($0.name) }.flatMap {
      option in
      plain(command).flatMap { line in
        guard let kind = option.kind else { return [line + [option.name]] }
        // Three bytes a second would also take practically for ever.
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
    case .statement: ["SELECT meta().id FROM \(collection)"]
    case .parameter: ["a=1"]
    case .keyspace: [keyspace]
    case .collection: [collection]
    case .command: ["info"]
    case .number: ["3", "16384"]
    case .text, .documentID, .index, .view: ["x"]
    }
  }
}
