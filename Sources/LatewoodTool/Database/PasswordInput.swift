import LatewoodCrypto
import LatewoodTerminal

/// Passwords come from a terminal that does not show them, or from a file descriptor; never from an
/// argument, which other users of the machine can see.
enum PasswordInput {
  /// The greatest length of a password, in bytes.
  private static let longest = 4096

  /// Reads a password from a descriptor, to its end, without the line break at the end.
  ///
  /// - Parameter option: the option that names the descriptor.
  static func read(from number: UInt64, _ option: OptionDescription) throws -> SecretBytes {
    guard let descriptor = Int32(exactly: number) else {
      throw Failure.usage("\(option.name) needs the number of an open file descriptor")
    }
    let input = ByteInput(descriptor: descriptor)
    var bytes = try input.readAll()
    defer { bytes.withUnsafeMutableBytes { SecureMemory.wipe($0) } }
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    guard !bytes.isEmpty, bytes.count <= longest else {
      throw Failure.badInput(bytes.isEmpty ? "the password is empty" : "the password is too long")
    }
    return bytes.withUnsafeBytes { SecretBytes(copying: $0) }
  }

  /// Asks for a password on the terminal.
  ///
  /// - Parameters:
  ///   - subject: the option or command that asks for it.
  ///   - isNew: whether the password is being set. Then it is asked for twice.
  ///   - advice: what to do without a terminal.
  static func ask(
    _ subject: String, isNew: Bool, advice: String, _ console: Console
  ) throws -> SecretBytes {
    guard console.input.isTerminal else {
      throw Failure.usage(
        "\(subject) asks on a terminal, and standard input is none", advice: advice)
    }
    let password = try line(isNew ? "New password: " : "Password: ", console)
    guard password.count > 0 else { throw Failure.badInput("the password is empty") }
    if isNew {
      guard try line("The same again: ", console) == password else {
        throw Failure.badInput("the two passwords differ", advice: "Nothing was changed.")
      }
    }
    return password
  }

  private static func line(_ prompt: String, _ console: Console) throws -> SecretBytes {
    try console.flush()
    let line = try SecretLine.read(from: console.input) {
      try console.error.write(prompt)
      try console.error.flush()
    }
    try console.error.write("\n")
    guard let line else {
      throw Failure(.no, code: "cancelled", "no password was given", advice: "Nothing was changed.")
    }
    return line
  }
}
