/// The description of a command, from which the parser, the help, the manual page and the
/// completion are derived.
struct CommandDescription: Sendable {
  var name: String
  /// A summary in one line without a full stop.
  var summary: String
  var operands: [OperandDescription] = []
  var options: [OptionDescription] = []
  /// The paragraphs of the explanation.
  var discussion: [String] = []
  var examples: [ExampleDescription] = []
  /// The output of `--json`, a line of text for each entry.
  var json: [String] = []
  /// Whether the command is omitted from help.
  var isHidden = false
  /// Whether the command is a part of `inspect`.
  var isInspection = false
  var run: @Sendable (Arguments, Console) throws -> ExitCode

  /// The words of the command on the command line.
  var fullName: String { isInspection ? "inspect \(name)" : name }

  var requiredOperands: Int { operands.count { !$0.isOptional } }
  /// The options of the command, including the common ones.
  var allOptions: [OptionDescription] {
    options + (takesKey ? FileKey.Options.opening.all : []) + (json.isEmpty ? [] : [.json]) + [.help]
  }
}

/// An argument identified by its position.
struct OperandDescription: Sendable {
  var name: String
  var summary: String
  var isOptional = false
  /// The only accepted words; empty to accept any.
  var choices: [String] = []
  /// The kinds that depend on the word of the first operand.
  var kinds: [String: ArgumentKind] = [:]
  /// Whether the operand is a database although its name differs. The shell fills in the first such
  /// operand.
  var isDatabase = false

  static let database = OperandDescription(name: "DATABASE", summary: "path of the database file")
  static let key = OperandDescription(
    name: "KEY", summary: "text, or bytes in hexadecimal after 0x")
}

/// An argument identified by its name.
struct OptionDescription: Sendable, Equatable {
  /// The name with its dashes.
  var name: String
  /// The word for its value in help; nil if it has no value.
  var value: String?
  var summary: String
  /// The only accepted values; empty to accept any.
  var choices: [String] = []
  /// Whether it may be given more than once.
  var repeats = false
}

struct ExampleDescription: Sendable {
  var line: String
  var explanation: String
}

extension OptionDescription {
  static let json = OptionDescription(name: "--json", summary: "print JSON for programs")
  static let help = OptionDescription(name: "--help", summary: "explain the command")
  static let keyspace = OptionDescription(
    name: "--keyspace", value: "NAME", summary: "the keyspace to use; \"default\" if not given")
  static let asOf = OptionDescription(
    name: "--as-of", value: "NUMBER", summary: "read the checkpoint of this transaction (see history)")
  static let from = OptionDescription(
    name: "--from", value: "KEY", summary: "start at this key, inclusive")
  static let to = OptionDescription(name: "--to", value: "KEY", summary: "stop before this key")
  static let prefix = OptionDescription(
    name: "--prefix", value: "KEY", summary: "only keys that begin with this")
  static let follow = OptionDescription(
    name: "--follow", summary: "continue, and show what other processes write")
  static let wait = OptionDescription(
    name: "--wait", value: "TIME",
    summary: "wait for another process that writes, at most so long: 500ms, 30s, 2m")
  static let limit = OptionDescription(name: "--limit", value: "NUMBER", summary: "at most this many")
}
