import LatewoodBytes

/// The arguments of a command, parsed according to its description. Arguments are bytes, because
/// keys need not be UTF-8.
struct Arguments: Equatable {
  private(set) var operands: [[UInt8]] = []
  /// The values of each option, one for each occurrence.
  private var values: [String: [[UInt8]]] = [:]
  private var flags: Set<String> = []

  func has(_ option: OptionDescription) -> Bool { flags.contains(option.name) || values[option.name] != nil }
  func bytes(of option: OptionDescription) -> [UInt8]? { values[option.name]?.first }

  /// Returns an operand, or nil if it is missing.
  func operand(_ index: Int) -> [UInt8]? { index < operands.count ? operands[index] : nil }

  /// Returns an operand that is a path or a name.
  func text(_ index: Int) throws -> String {
    try Self.text(operand(index) ?? [], what: "this argument")
  }

  func text(of option: OptionDescription) throws -> String? {
    guard let bytes = bytes(of: option) else { return nil }
    return try Self.text(bytes, what: option.name)
  }

  /// Returns the values of an option that may be given more than once.
  func texts(of option: OptionDescription) throws -> [String] {
    var texts: [String] = []
    for bytes in values[option.name] ?? [] { texts.append(try Self.text(bytes, what: option.name)) }
    return texts
  }

  func number(of option: OptionDescription) throws -> UInt64? {
    guard let text = try text(of: option) else { return nil }
    guard let number = UInt64(text), number <= Int64.max else {
      throw Failure.usage("\(option.name) needs a whole number, not \(Self.quoted(Array(text.utf8)))")
    }
    return number
  }

  /// Returns the time to wait for the writer lock, according to `--wait`: a whole number of `ms`,
  /// `s` or `m`; without a unit, of seconds.
  func lockTimeout() throws -> Duration {
    guard let text = try text(of: .wait) else { return .zero }
    let digits = text.prefix { ("0"..."9").contains($0) }
    guard let number = Int64(digits), number <= 1_000_000_000 else { throw Self.wrongTime(text) }
    switch text[digits.endIndex...] {
    case "ms": return .milliseconds(number)
    case "s", "": return .seconds(number)
    case "m": return .seconds(number * 60)
    default: throw Self.wrongTime(text)
    }
  }

  private static func wrongTime(_ text: String) -> Failure {
    .usage(
      "--wait needs a time, not \(quoted(Array(text.utf8)))", advice: "Write a time such as 500ms, 30s or 2m."
    )
  }

  /// Returns an operand that is a key, or other bytes in the notation of keys.
  func bytes(_ index: Int) throws -> [UInt8] { try KeyText.bytes(operand(index) ?? []) }

  func key(_ index: Int) throws -> [UInt8] {
    let key = try bytes(index)
    guard !key.isEmpty else {
      throw Failure.usage("the key is empty", advice: "A key has at least one byte.")
    }
    return key
  }

  func key(of option: OptionDescription) throws -> [UInt8]? {
    guard let bytes = bytes(of: option) else { return nil }
    return try KeyText.bytes(bytes)
  }

  static func text(_ bytes: [UInt8], what: String) throws -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Failure.usage(
        "\(what) is not UTF-8: \(quoted(bytes))", advice: "Paths and names must be text in UTF-8.")
    }
    guard !text.isEmpty else { throw Failure.usage("\(what) is empty") }
    return text
  }

  /// Returns an argument in its form for messages.
  static func quoted(_ bytes: [UInt8]) -> String {
    DisplayWidth.fitted(KeyText.readableText(bytes).map { "\"\($0)\"" } ?? KeyText.shown(bytes), to: 60)
  }
}

extension Arguments {
  /// Parses `arguments`, which follow the command's name.
  ///
  /// `--name value` and `--name=value` are the same; everything after `--` is an operand; a single
  /// `-` is an operand. The argument after an option that needs a value is always its value.
  init(_ arguments: some Sequence<[UInt8]>, for command: CommandDescription) throws {
    var rest = Array(arguments)[...]
    var onlyOperands = false
    while let argument = rest.popFirst() {
      guard !onlyOperands, argument.first == UInt8(ascii: "-"), argument.count > 1 else {
        operands.append(argument)
        continue
      }
      if argument == Array("--".utf8) {
        onlyOperands = true
      } else {
        try takeOption(argument, rest: &rest, for: command)
      }
    }
    if has(.help) { return }
    try checkCount(for: command)
  }

  private mutating func takeOption(
    _ argument: [UInt8], rest: inout ArraySlice<[UInt8]>, for command: CommandDescription
  ) throws {
    let equals = argument.firstIndex(of: UInt8(ascii: "="))
    let name = String(decoding: argument[..<(equals ?? argument.endIndex)], as: UTF8.self)
    let wanted = ["-h": "--help", "-o": "--output"][name] ?? name
    guard let option = command.allOptions.first(where: { $0.name == wanted }) else {
      throw Failure.usage(
        "`latewood \(command.fullName)` has no option \(Self.quoted(Array(name.utf8)))",
        advice: Suggestion.advice(
          for: name, among: command.allOptions.map(\.name),
          otherwise: "See `latewood help \(command.name)`. Put -- before a key that starts with a dash."))
    }
    guard option.repeats || !has(option) else { throw Failure.usage("\(option.name) is given twice") }
    guard option.value != nil else {
      if equals != nil { throw Failure.usage("\(option.name) takes no value") }
      flags.insert(option.name)
      return
    }
    guard let value = equals.map({ Array(argument[($0 + 1)...]) }) ?? rest.popFirst() else {
      throw Failure.usage(
        "\(option.name) needs a value", advice: "Write \(option.name) \(option.value ?? "").")
    }
    if !option.choices.isEmpty, !option.choices.contains(String(decoding: value, as: UTF8.self)) {
      throw Failure.usage(
        "\(option.name) cannot be \(Self.quoted(value))",
        advice: "Choose one of: \(option.choices.joined(separator: ", ")).")
    }
    values[option.name, default: []].append(value)
  }

  private func checkCount(for command: CommandDescription) throws {
    let usage = "Write: \(HelpText.usage(of: command))"
    if operands.count < command.requiredOperands {
      throw Failure.usage("\(command.operands[operands.count].name) is missing", advice: usage)
    }
    if operands.count > command.operands.count {
      throw Failure.usage(
        "\(Self.quoted(operands[command.operands.count])) is one argument too many", advice: usage)
    }
  }
}
