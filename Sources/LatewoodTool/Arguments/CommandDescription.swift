/// One command as data: the parser, the help and whatever else is made from the command line are
/// made from this.
struct CommandDescription: Sendable {
  var name: String
  /// One line without a full stop.
  var summary: String
  var operands: [OperandDescription] = []
  var options: [OptionDescription] = []
  /// Paragraphs that teach it.
  var discussion: [String] = []
  var examples: [ExampleDescription] = []
  /// What `--json` prints, one line of text each.
  var json: [String] = []
  /// Left out of help.
  var isHidden = false
  var run: @Sendable (Arguments, Console) throws(Failure) -> ExitCode

  var requiredOperands: Int { operands.count { !$0.isOptional } }
  /// Every command knows these, too.
  var allOptions: [OptionDescription] { options + (json.isEmpty ? [] : [.json]) + [.help] }
}

/// An argument that is known by its place.
struct OperandDescription: Sendable {
  var name: String
  var summary: String
  var isOptional = false
  /// If not empty, the only words it takes.
  var choices: [String] = []
  /// For a database that is not called so: the shell fills in the first that there is.
  var isDatabase = false

  static let database = OperandDescription(name: "DATABASE", summary: "path of the database file")
  static let key = OperandDescription(
    name: "KEY", summary: "text, or bytes in hexadecimal behind 0x")
}

/// An argument that is known by its name.
struct OptionDescription: Sendable, Equatable {
  /// With its dashes.
  var name: String
  /// What stands for its value in help; nil if it has none.
  var value: String?
  var summary: String
  /// If not empty, the only values it takes.
  var choices: [String] = []
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
    name: "--from", value: "KEY", summary: "start at this key, if it exists with it")
  static let to = OptionDescription(name: "--to", value: "KEY", summary: "stop before this key")
  static let prefix = OptionDescription(
    name: "--prefix", value: "KEY", summary: "only keys that start like this")
  static let follow = OptionDescription(
    name: "--follow", summary: "go on and show what other processes write, as it comes")
  static let limit = OptionDescription(name: "--limit", value: "NUMBER", summary: "at most so many")
}
