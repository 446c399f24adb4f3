import LatewoodDocuments

/// The possible continuations of an unfinished command line, according to the descriptions of the
/// commands.
struct Completion: Equatable {
  struct Candidate: Equatable {
    /// The complete word.
    var text: String
    /// The meaning of the word, for shells that show it; may be empty.
    var summary = ""
  }

  var candidates: [Candidate] = []
  /// The prefix of the word after which the caller should also offer file names; nil if it should
  /// not.
  var filesBehind: String?

  /// The names in a database, read only when needed.
  struct Names: Sendable {
    /// The greatest number of keys, or of ids, that are offered.
    static let limit = 100

    var keyspaces: @Sendable (_ database: String) -> [String]
    var collections: @Sendable (_ database: String) -> [String]
    var indexes: @Sendable (_ database: String, _ collection: String) -> [String]
    var views: @Sendable (_ database: String, _ collection: String) -> [String]
    /// The first ids of documents that begin with a text.
    var documentIDs: @Sendable (_ database: String, _ collection: String, _ prefix: String) -> [String]
    /// The first keys that begin with a text and are text themselves.
    var keys: @Sendable (_ database: String, _ keyspace: String, _ prefix: String) -> [String]
    /// The members of some documents.
    var fields: @Sendable (_ database: String, _ collection: String) -> [String] = { _, _ in [] }
  }

  /// - Parameters:
  ///   - words: the complete words, the command first.
  ///   - partial: the word to complete; may be empty.
  ///   - database: the path that the shell fills in, and the words do not contain.
  static func of(_ words: [String], partial: String, database: String? = nil, names: Names) -> Completion {
    var completion = Completion()
    let words = CommandTable.withoutInspect(words) { $0 }
    guard let name = words.first else {
      for command in CommandTable.commands where !command.isHidden && !command.isInspection {
        if database == nil || command.refusalInShell == nil {
          completion.offer(command.name, command.summary, partial)
        }
      }
      if database != nil { completion.offer("exit", "leave the shell", partial) }
      // The path of a database opens the shell.
      if database == nil, completion.candidates.isEmpty { completion.filesBehind = "" }
      return completion
    }
    guard let command = CommandTable.command(named: name) else { return completion }
    let line = UnfinishedLine(Array(words.dropFirst()), for: command, database: database)
    if let option = line.openOption {
      completion.offerValues(option.kind, option.choices, partial, prefix: "", line, names)
    } else if !line.onlyOperands, partial.hasPrefix("--"), let equals = partial.firstIndex(of: "=") {
      let prefix = String(partial[...equals])
      if let option = command.allOptions.first(where: { $0.name + "=" == prefix }) {
        completion.offerValues(
          option.kind, option.choices, String(partial.dropFirst(prefix.count)), prefix: prefix, line, names)
      }
    } else if !line.onlyOperands, partial.hasPrefix("-") {
      for option in command.allOptions where !line.options.contains(option.name) {
        completion.offer(option.name, option.summary, partial)
      }
    } else if let operand = line.nextOperand {
      completion.offerValues(
        line.firstOperand.flatMap { operand.kinds[$0] } ?? operand.kind, operand.choices, partial, prefix: "",
        line, names)
    } else if partial.isEmpty, !line.onlyOperands {
      for option in command.allOptions where !line.options.contains(option.name) {
        completion.offer(option.name, option.summary, partial)
      }
    }
    return completion
  }

  /// The longest common prefix of all candidates.
  var commonPrefix: String {
    guard var prefix = candidates.first?.text else { return "" }
    for candidate in candidates.dropFirst() {
      while !candidate.text.hasPrefix(prefix) { prefix.removeLast() }
    }
    return prefix
  }

  private mutating func offer(_ text: String, _ summary: String, _ partial: String) {
    if text.hasPrefix(partial) { candidates.append(Candidate(text: text, summary: summary)) }
  }

  private mutating func offerValues(
    _ kind: ArgumentKind?, _ choices: [String], _ partial: String, prefix: String, _ line: UnfinishedLine,
    _ names: Names
  ) {
    let (database, collection) = (line.database, line.collection)
    func offer(_ list: [String]) {
      for name in list where name.hasPrefix(partial) { candidates.append(Candidate(text: prefix + name)) }
    }
    guard choices.isEmpty else { return offer(choices) }
    switch kind {
    case .database, .file, .newFile: filesBehind = prefix
    case .keyspace: offer(database.map(names.keyspaces) ?? [])
    case .collection: offer(database.map(names.collections) ?? [])
    case .index: offer(database.map { names.indexes($0, collection) } ?? [])
    case .view: offer(database.map { names.views($0, collection) } ?? [])
    case .documentID: offer(database.map { names.documentIDs($0, collection, partial) } ?? [])
    case .key: offer(database.map { names.keys($0, line.keyspace, partial) } ?? [])
    case .command:
      for command in CommandTable.commands where !command.isHidden {
        self.offer(command.name, command.summary, partial)
      }
    default: break
    }
  }
}

/// The meaning of the complete words of a line, as far as it can be determined.
private struct UnfinishedLine {
  var options: Set<String> = []
  /// The values of options, by name.
  private var values: [String: String] = [:]
  /// The collection among the operands, for commands that take it there.
  private var collectionOperand: String?
  var collection: String {
    values["--collection"] ?? collectionOperand ?? CollectionHandle.defaultName
  }
  var keyspace: String { values["--keyspace"] ?? Database.defaultKeyspace }
  /// An option whose value is the next word.
  var openOption: OptionDescription?
  var nextOperand: OperandDescription?
  /// The first operand of the line, if it is not the database.
  var firstOperand: String?
  var onlyOperands = false
  /// The path of the database, on the line or filled in by the shell.
  var database: String?

  init(_ words: [String], for command: CommandDescription, database: String?) {
    var operands = command.operands
    if let database {
      self.database = database
      if let place = command.databaseOperand { operands.remove(at: place) }
    }
    var place = 0
    for word in words {
      if let option = openOption {
        values[option.name] = word
        openOption = nil
      } else if onlyOperands || !word.hasPrefix("-") || word == "-" {
        if self.database == nil, place < operands.count, operands[place].kind == .database {
          self.database = word
        }
        if place == 0 { firstOperand = word }
        if place < operands.count, let action = firstOperand, operands[place].kinds[action] == .collection {
          collectionOperand = word
        }
        place += 1
      } else if word == "--" {
        onlyOperands = true
      } else {
        let name = String(word.prefix { $0 != "=" })
        options.insert(name)
        if name != word { values[name] = String(word.dropFirst(name.count + 1)) }
        guard name == word, let option = command.options.first(where: { $0.name == name }) else { continue }
        if option.value != nil { openOption = option }
      }
    }
    nextOperand = place < operands.count ? operands[place] : nil
  }
}
