/// Help texts, derived from the descriptions of the commands. Nothing is wider than 80 columns, and
/// prose is not wider than the terminal.
enum HelpText {
  static let width = 80

  static func overview(
    of groups: [CommandTable.Group], style: Style, width: Int = Self.width
  ) -> String {
    var text = "latewood: a database of documents or key-values in one file\n"
    text += heading("usage", style)
    text += "  latewood COMMAND DATABASE [ARGUMENT ...] [--option ...]\n"
    text += "  latewood DATABASE\n"
    text += "  latewood help COMMAND\n"
    text += tables(groups, style, width)
    text += heading("getting started", style)
    text += "  latewood demo\n"
    text += "  latewood import my.latewood films.json\n"
    text += "  latewood doc list my.latewood\n"
    text += "  latewood put other.latewood greeting \"hello\"\n"
    text += "  latewood get other.latewood greeting\n"
    text += heading("documents and key-value entries", style)
    text += paragraph(keys, indent: 2, width: width)
    text += heading("exit codes", style)
    text += table(exitCodes, width)
    text += heading("terminal and environment", style)
    text += paragraph(environment, indent: 2, width: width)
    return text
  }

  /// Returns the overview for `help` inside the shell, where commands have neither the program's
  /// name nor the path of the database.
  static func shellOverview(
    of groups: [CommandTable.Group], style: Style, width: Int = Self.width
  ) -> String {
    var text = "commands on this database; each begins with its own name\n"
    text += heading("usage", style)
    text += "  COMMAND [ARGUMENT ...] [--option ...]\n  help COMMAND\n  exit, quit or ctrl-D\n"
    let shown = groups.map { group in
      CommandTable.Group(
        title: group.title,
        commands: group.commands.filter { $0.databaseOperand != nil && $0.name != "shell" })
    }
    return text + tables(shown.filter { !$0.commands.isEmpty }, style, width)
  }

  /// Returns the commands of each group below its title, all in the same columns.
  private static func tables(_ groups: [CommandTable.Group], _ style: Style, _ width: Int) -> String {
    let longest = groups.flatMap(\.commands).map(\.name.count).max()
    return groups.map { group in
      heading(group.title, style)
        + table(group.commands.map { ($0.name, $0.summary) }, width, column: longest)
    }.joined()
  }

  /// The exit codes of the program, and the codes that shells report for a program ended by a
  /// signal.
  static let exitCodes =
    ExitCode.allCases.map { (String($0.rawValue), $0.meaning) } + [
      (
        "129, 130, 143",
        "stopped by a hang-up, by Ctrl-C or by a request to end: committed data is in the database, "
          + "and nothing unfinished is left beside it"
      )
    ]

  static let keys =
    "A file contains either documents or key-value entries. Documents are in collections: --collection NAME "
    + "selects one; the default is the only collection, or \"_default\" if there are several. Entries are in keyspaces, each with its own keys: "
    + "--keyspace NAME selects one, and the default is \"default\". Keys are text, or bytes written as "
    + "hexadecimal after 0x, which is also how keys that are not readable text are printed."

  static let environment =
    "Commands that only read can run while another process writes to the file. Commands that show "
    + "or report something take --json. Errors go to standard error. Colour and progress "
    + "appear only on a terminal, and no colour if NO_COLOR is set. The demo puts its files into TMPDIR, "
    + "or into /tmp."

  static func explanation(
    of command: CommandDescription, style: Style, width: Int = Self.width
  ) -> String {
    var text = paragraph("latewood \(command.fullName): \(command.summary)", indent: 0, width: width)
    text += heading("usage", style) + "  \(usage(of: command))\n"
    if !command.operands.isEmpty {
      text += heading("arguments", style) + table(command.operands.map { ($0.name, $0.summary) }, width)
    }
    text +=
      heading("options", style) + table(command.allOptions.map { (signature(of: $0), $0.summary) }, width)
    if !command.discussion.isEmpty {
      text += heading("description", style)
      text += command.discussion.map { paragraph($0, indent: 2, width: width) }.joined(separator: "\n")
    }
    if !command.examples.isEmpty { text += heading("examples", style) }
    for (index, example) in command.examples.enumerated() {
      text +=
        "\(index > 0 ? "\n" : "")  \(style.bold(example.line))\n"
        + paragraph(example.explanation, indent: 6, width: width)
    }
    if !command.json.isEmpty {
      text += heading("output with --json", style) + command.json.map { "  \($0)\n" }.joined()
    }
    return text
  }

  static func usage(of command: CommandDescription) -> String {
    let operands = command.operands.map { $0.isOptional ? "[\($0.name)]" : $0.name }
    return (["latewood", command.fullName] + operands).joined(separator: " ")
      + (command.options.isEmpty ? "" : " [--option ...]")
  }

  static func signature(of option: OptionDescription) -> String {
    guard let value = option.value else { return option.name }
    return "\(option.name) \(option.choices.isEmpty ? value : option.choices.joined(separator: "|"))"
  }

  private static func heading(_ title: String, _ style: Style) -> String {
    "\n\(style.bold(title.uppercased()))\n"
  }

  /// - Parameter column: the width of the first column; default: the width of its longest cell.
  private static func table(_ rows: [(String, String)], _ width: Int, column: Int? = nil) -> String {
    // A name that is too long for the column gets a separate line, so that it does not narrow all
    // texts.
    let column = min(column ?? rows.map { $0.0.count }.max() ?? 0, 22)
    return rows.map { row in
      let text = paragraph(row.1, indent: column + 4, width: width)
      guard row.0.count <= column else { return "  \(row.0)\n\(text)" }
      return DisplayWidth.padded("  \(row.0)", to: column + 4) + text.dropFirst(column + 4)
    }.joined()
  }

  /// Breaks text into lines at spaces.
  static func paragraph(_ text: String, indent: Int, width: Int = Self.width) -> String {
    let margin = String(repeating: " ", count: indent)
    var result = ""
    var line = margin
    for word in text.split(separator: " ") {
      if line.count > indent, line.count + 1 + word.count > width {
        result += line + "\n"
        line = margin
      }
      line += (line.count > indent ? " " : "") + word
    }
    return result + line + "\n"
  }
}
