import LatewoodBytes
import LatewoodDocuments

/// The arguments of a command with several actions: the name of an action, then its operands.
struct ActionArguments {
  /// One of the actions of such a command.
  struct Action {
    var name: String
    /// The names of the operands of the action; those in brackets are optional.
    var operands: [String]
    var options: [OptionDescription] = []
  }

  let action: String
  let operands: [[UInt8]]

  /// - Parameters:
  ///   - command: the name of the command.
  ///   - usual: the default if the first argument is not an action.
  init(
    _ arguments: Arguments, of command: String, _ actions: [Action], usual: String? = nil
  ) throws {
    let first = String(decoding: arguments.operand(0) ?? [], as: UTF8.self)
    let isNamed = actions.contains { $0.name == first }
    guard let action = actions.first(where: { $0.name == (isNamed ? first : usual) }) else {
      throw Failure.usage(
        "`latewood \(command)` cannot \(Arguments.quoted(Array(first.utf8)))",
        advice: Suggestion.advice(
          for: first, among: actions.map(\.name),
          otherwise: "It can: \(actions.map(\.name).joined(separator: ", "))."))
    }
    self.action = action.name
    operands = Array(arguments.operands.dropFirst(isNamed ? 1 : 0))
    let usage = "latewood \(command) \(([action.name] + action.operands).joined(separator: " "))"
    let required = action.operands.count { !$0.hasPrefix("[") }
    if operands.count < required {
      throw Failure.usage("\(action.operands[operands.count]) is missing", advice: "Write: \(usage)")
    }
    if operands.count > action.operands.count {
      throw Failure.usage(
        "\(Arguments.quoted(operands[action.operands.count])) is one argument too many",
        advice: "Write: \(usage)")
    }
    let others = actions.flatMap(\.options)
    for option in others where arguments.has(option) && !action.options.contains(option) {
      let users = actions.filter { $0.options.contains(option) }.map { "\(command) \($0.name)" }
      throw Failure.usage(
        "\(option.name) cannot be used with `latewood \(command) \(action.name)`",
        advice: "It can be used with: \(users.joined(separator: ", ")).")
    }
  }

  func operand(_ index: Int) -> [UInt8]? { index < operands.count ? operands[index] : nil }

  /// Returns an operand that is a path or a name.
  func text(_ index: Int) throws -> String {
    try Arguments.text(operand(index) ?? [], what: "this argument")
  }

  /// Returns an operand that is the id of a document.
  func documentID(_ index: Int) throws -> String {
    let id = try text(index)
    if let objection = NameRules.objection(toID: id) {
      throw Failure.badInput("the document id \(Arguments.quoted(Array(id.utf8))) \(objection)")
    }
    return id
  }
}
