/// The meaning of an argument, which determines how it is completed and what a test passes for it.
///
/// The words for arguments in help are a fixed vocabulary: DATABASE is always the path of a
/// database, KEY always a key.
enum ArgumentKind: Sendable {
  case database
  /// A file to read.
  case file
  /// A file to write.
  case newFile
  case key, value
  /// A statement in SQL++.
  case statement
  /// A name with a value.
  case parameter
  case keyspace, collection
  /// The id of a document, or its beginning.
  case documentID
  /// The name of an index or a view that exists.
  case index, view
  case command
  case number
  /// A word that depends on the database or its user.
  case text

  /// Creates the kind for a word in help; returns nil for an unknown word.
  init?(word: String) {
    switch word {
    case "DATABASE", "A", "B", "OLD", "NEW", "OTHER", "BACKUP": self = .database
    case "SOURCE", "FILE", "PATH": self = .file
    case "TARGET", "OUT", "SVG": self = .newFile
    case "KEY": self = .key
    case "VALUE", "BODY", "JSON", "SELECTOR": self = .value
    case "STATEMENT": self = .statement
    case "NAME=VALUE": self = .parameter
    case "ID": self = .documentID
    case "KEYSPACE": self = .keyspace
    case "COLLECTION": self = .collection
    case "COMMAND": self = .command
    case "NUMBER", "BYTES", "OFFSET", "TRANSACTION", "SECONDS", "SEQUENCE", "COUNT", "LENGTH", "TIME":
      self = .number
    case "NAME", "ACTION", "REVISION", "FIELD", "FIELDS", "FORM", "WHAT", "WORD", "DIGEST", "SHELL",
      "LINE", "CHARACTER", "COLUMNS", "ENCODING",
      "HEX", "LANGUAGE", "QUERY", "ANCHOR", "ADDRESS", "HOST", "ORIGIN", "ROLE":
      self = .text
    default: return nil
    }
  }
}

extension OperandDescription {
  var kind: ArgumentKind { isDatabase ? .database : ArgumentKind(word: name) ?? .text }
}

extension OptionDescription {
  /// The kind of the option's value; nil if it has no value.
  var kind: ArgumentKind? {
    switch name {
    case "--keyspace": .keyspace
    case "--collection": .collection
    default: value.map { ArgumentKind(word: $0) ?? .text }
    }
  }
}

extension CommandDescription {
  /// The index of the operand that the shell fills in; nil if the command needs no database.
  var databaseOperand: Int? { operands.firstIndex { $0.kind == .database } }
}
