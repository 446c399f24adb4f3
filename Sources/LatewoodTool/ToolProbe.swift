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
    func ask(_ body: () throws -> Void) {
      do { try body() } catch {
        var writer = JSONOutput()
        let failure = Failure(error)
        failure.write(to: &writer)
        said += [failure.message, failure.advice, String(decoding: writer.take(), as: UTF8.self)]
      }
    }
    let name = arguments.first ?? []
    guard let command = CommandTable.command(named: String(decoding: name, as: UTF8.self)) else {
      ask { throw CommandTable.unknown(name) }
      return said
    }
    ask {
      let parsed = try Arguments(arguments.dropFirst(), for: command)
      if parsed.has(.help) {
        said.append(HelpText.explanation(of: command, style: Style(isColoured: true)))
      }
      for index in parsed.operands.indices {
        ask { _ = try parsed.text(index) }
        ask { _ = try parsed.key(index) }
      }
      for option in command.allOptions {
        ask { _ = try parsed.text(of: option) }
        ask { _ = try parsed.number(of: option) }
        ask { _ = try parsed.key(of: option) }
      }
    }
    return said
  }
}
