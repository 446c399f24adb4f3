import LatewoodBytes

/// Converts the words of a line of the shell into the arguments of the tool.
enum ShellLine {
  /// - Parameters:
  ///   - key: the options that give the key of the database to a command that has none.
  ///   - hasInput: false if the lines come from standard input, so that commands cannot read it.
  static func arguments(
    _ words: [String], database: String, key: [String] = [], hasInput: Bool
  ) throws -> [[UInt8]] {
    let words = CommandTable.withoutInspect(words) { $0 }
    let name = words.first ?? ""
    guard name != "latewood" else {
      throw Failure.usage(
        "the shell is inside latewood already", advice: "Leave out `latewood` and the path of the database.")
    }
    guard let command = CommandTable.command(named: name) else {
      throw Failure.usage(
        "unknown command \(Arguments.quoted(Array(name.utf8)))",
        advice: Suggestion.advice(for: name, among: known, otherwise: "`help` lists the commands."))
    }
    if let refusal = command.refusalInShell { throw Failure.usage("`\(name)` \(refusal)") }
    var result = words.map { Array($0.utf8) }
    guard let place = command.databaseOperand else { return result }
    let (index, operands) = position(ofOperand: place, in: words, of: command)
    if !hasInput, !words.contains("--help") {
      // The operands on the line do not include the one that the shell fills in.
      for (number, operand) in operands.enumerated() where operand == "-" {
        let described = number < place ? number : number + 1
        guard described < command.operands.count else { continue }
        let kind = command.operands[described].kind
        guard kind != .file, kind != .value else {
          throw Failure.usage(
            "`\(name)` cannot read standard input here: the shell reads its commands from it",
            advice: "Give a path or a value in the place of -.")
        }
      }
    }
    result.insert(Array(database.utf8), at: index)
    if !words.contains(where: { word in FileKey.Options.opening.all.contains { word.hasPrefix($0.name) } }) {
      result.insert(contentsOf: key.map { Array($0.utf8) }, at: 1)
    }
    return result
  }

  private static var known: [String] {
    CommandTable.commands.filter { !$0.isHidden && $0.refusalInShell == nil }.map(\.name) + ["exit"]
  }

  /// Returns the position on the line for the operand with an index, and all operands on the line.
  private static func position(
    ofOperand place: Int, in words: [String], of command: CommandDescription
  ) -> (index: Int, operands: [String]) {
    var operands: [String] = []
    var index: Int?
    var isValue = false
    var onlyOperands = false
    for (number, word) in words.enumerated().dropFirst() {
      if isValue {
        isValue = false
      } else if onlyOperands || !word.hasPrefix("-") || word == "-" {
        if operands.count == place { index = number }
        operands.append(word)
      } else if word == "--" {
        // Insert it after `--`, so that a path that starts with a dash is not an option.
        onlyOperands = true
      } else {
        isValue = command.allOptions.contains { $0.name == word && $0.value != nil }
      }
    }
    return (index ?? words.count, operands)
  }
}

extension CommandDescription {
  /// The reason why the shell does not run the command; nil if it does.
  var refusalInShell: String? {
    if name == "shell" { return "is what runs here already" }
    if name == "serve" { return "runs until it is interrupted; run it outside the shell" }
    if name == "help" || name == "man" || databaseOperand != nil { return nil }
    return "has nothing to do with the database; run it outside the shell"
  }
}
