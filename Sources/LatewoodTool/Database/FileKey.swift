import LatewoodBytes
import LatewoodCrypto
import LatewoodDevice
import LatewoodFile
import LatewoodStore
import LatewoodTerminal

/// The key of the encrypted files that a command opens, from its options.
///
/// `LatewoodCommand` sets `current` before it runs a command, so that the key is with every open,
/// also those of layers that know only a path.
enum FileKey {
  /// Nil if the command has none.
  @TaskLocal static var current: EncryptionKey?

  /// The options for one key.
  struct Options {
    let file: OptionDescription
    let password: OptionDescription
    let descriptor: OptionDescription

    var all: [OptionDescription] { [file, password, descriptor] }

    /// The key that opens the file.
    static let opening = Options(
      file: OptionDescription(
        name: "--key-file", value: "FILE", summary: "of an encrypted database: the file with its key"),
      password: OptionDescription(
        name: "--password", summary: "of an encrypted database: ask for its password"),
      descriptor: OptionDescription(
        name: "--password-fd", value: "NUMBER", summary: "read its password from this file descriptor"))

    /// The key that `rekey` sets.
    static let new = Options(
      file: OptionDescription(
        name: "--new-key-file", value: "FILE", summary: "the file with the new key"),
      password: OptionDescription(name: "--new-password", summary: "ask for the new password"),
      descriptor: OptionDescription(
        name: "--new-password-fd", value: "NUMBER", summary: "read the new password from this descriptor"))
  }

  /// Returns the key that options give; nil if they give none.
  ///
  /// - Parameters:
  ///   - isNew: whether the key will encrypt a file. Then a password is asked for twice.
  static func given(
    by options: Options = .opening, _ arguments: Arguments, isNew: Bool, _ console: Console
  ) throws -> EncryptionKey? {
    let given = options.all.filter { arguments.has($0) }
    guard let option = given.first else { return nil }
    guard given.count == 1 else {
      throw Failure.usage("\(given[0].name) and \(given[1].name) do not go together")
    }
    if option == options.file, let path = try arguments.text(of: option) {
      return try key(inFile: path)
    }
    if option == options.descriptor, let number = try arguments.number(of: option) {
      return .password(try PasswordInput.read(from: number, option))
    }
    return .password(
      try PasswordInput.ask(
        option.name, isNew: isNew, advice: "Use \(option.name)-fd or a key file.", console))
  }

  /// Reads a key file: 32 bytes, or 64 hexadecimal digits.
  private static func key(inFile path: String) throws -> EncryptionKey {
    var bytes = [UInt8](repeating: 0, count: 256)
    defer { bytes.withUnsafeMutableBytes { SecureMemory.wipe($0) } }
    try Failure.naming(path) {
      let device = try FileVolume().open(path, .readOnly)
      defer { device.close() }
      let count = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
      bytes.removeLast(bytes.count - count)
    }
    if bytes.count == 32 { return .raw(bytes) }
    while let last = bytes.last, [10, 13, 32].contains(last) { bytes.removeLast() }
    if bytes.count == 64, var decoded = Hex.decode(bytes) {
      defer { decoded.withUnsafeMutableBytes { SecureMemory.wipe($0) } }
      return .raw(decoded)
    }
    throw Failure(
      .badInput, code: "badKeyFile", "the file does not hold a key",
      advice: "A key file has 32 random bytes, or 64 hexadecimal digits: `head -c 32 /dev/urandom > FILE`.",
      path: path)
  }
}

extension FileKey {
  /// The key of the shell's database, in the form in which its commands get it: each is a process.
  struct Handover {
    static let none = Handover()

    private(set) var options: [String] = []
    /// The password, which a command reads from `SystemCalls.secretDescriptor`.
    private(set) var password: SecretBytes?

    private init() {}

    /// - Parameter arguments: the arguments of the shell.
    init(_ arguments: Arguments) throws {
      if let path = try arguments.text(of: FileKey.Options.opening.file) {
        options = [FileKey.Options.opening.file.name, path]
      } else if case .password(let password)? = FileKey.current?.kind {
        options = [FileKey.Options.opening.descriptor.name, "\(SystemCalls.secretDescriptor)"]
        self.password = password
      }
    }
  }
}

extension CommandDescription {
  /// Whether the command opens a database, which may be encrypted.
  var takesKey: Bool { databaseOperand != nil || name == Self.replicate.name }

  /// Returns the key for the databases of the command; nil without an option for it.
  func key(_ arguments: Arguments, _ console: Console) throws -> EncryptionKey? {
    guard takesKey else { return nil }
    var isNew = name == Self.encrypt.name
    if [Self.put.name, Self.importing.name].contains(name) {
      // These create a database where there is none.
      isNew = try !Store.exists(at: arguments.text(0))
    }
    if name == Self.replicate.name, arguments.has(.create) {
      let target = try arguments.text(1)
      isNew = try !ReplicationRun.isURL(target) && !Store.exists(at: target)
    }
    return try FileKey.given(arguments, isNew: isNew, console)
  }
}

extension Store.Options {
  /// Sets the key of the command.
  mutating func setKey() {
    if let key = FileKey.current { encryptionKey = key }
  }
}
