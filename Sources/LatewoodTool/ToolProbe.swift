import LatewoodFleece

/// The parts of the tool that other programs may call: only its parsers, without running a command
/// or accessing a file.
package enum ToolProbe {
  /// Parses a command line, without the name of the program, and reads every operand and option in
  /// every way that commands do.
  ///
  /// - Returns: the messages about refused arguments, in their forms for people and for programs,
  ///   and the help of the command.
  package static func answers(to arguments: [[UInt8]]) -> [String] {
    var said: [String] = []
    func ask(_ body: () throws(Failure) -> Void) {
      do throws(Failure) { try body() } catch {
        var writer = JSONOutput()
        error.write(to: &writer)
        said += [error.message, error.advice, String(decoding: writer.take(), as: UTF8.self)]
      }
    }
    let name = arguments.first ?? []
    guard let command = CommandTable.command(named: String(decoding: name, as: UTF8.self)) else {
      ask { () throws(Failure) in throw CommandTable.unknown(name) }
      return said
    }
    ask { () throws(Failure) in
      let parsed = try Arguments(arguments.dropFirst(), for: command)
      if parsed.has(.help) {
        said.append(HelpText.explanation(of: command, style: Style(isColoured: true)))
      }
      for index in parsed.operands.indices {
        ask { () throws(Failure) in _ = try parsed.text(index) }
        ask { () throws(Failure) in _ = try parsed.key(index) }
      }
      for option in command.allOptions {
        ask { () throws(Failure) in _ = try parsed.text(of: option) }
        ask { () throws(Failure) in _ = try parsed.number(of: option) }
        ask { () throws(Failure) in _ = try parsed.key(of: option) }
      }
    }
    return said
  }
}
