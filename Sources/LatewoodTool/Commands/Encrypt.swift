import LatewoodStore

extension OptionDescription {
  static let cipher = OptionDescription(
    name: "--cipher", value: "WORD", summary: "the ciphers; aes256 if not given",
    choices: CipherSuite.allCases.map(\.word))
  static let pbkdf2 = OptionDescription(
    name: "--pbkdf2", summary: "derive the key from the password by PBKDF2, not Argon2id")
  static let newFileKey = OptionDescription(
    name: "--new-file-key", summary: "also encrypt the file again, with a new key of its own")
}

extension CommandDescription {
  static let encrypt = CommandDescription(
    name: "encrypt",
    summary: "encrypt a database in place",
    operands: [.database],
    options: [.cipher, .pbkdf2, .wait],
    discussion: [
      "The key is the one that --key-file, --password or --password-fd gives. A key file has 32 random bytes, "
        + "or 64 hexadecimal digits. Without the key, nobody can read the database, not even its owner: "
        + "keep a copy of the key in another place than the database.",
      "The file is written again by a compaction. After a crash at any moment it is the old one or the new "
        + "one, each complete. Backups, copies, and the blocks of the old file that the disk has not overwritten yet "
        + "are still not encrypted.",
      "Sizes, times and the number of commits are not secret. aes256 is AES-256 with Poly1305, and chacha20 is "
        + "XChaCha20-Poly1305, which is about twice as fast. The key of a password is derived by Argon2id with 64 MiB "
        + "and three passes, or with --pbkdf2 by 600,000 rounds of PBKDF2 with HMAC-SHA-256.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood encrypt my.latewood --password", explanation: "Asks for a password, twice."),
      ExampleDescription(
        line: "latewood encrypt my.latewood --key-file my.key",
        explanation: "`head -c 32 /dev/urandom > my.key` makes such a file."),
    ]
  ) { arguments, console in
    guard let key = FileKey.current else {
      throw Failure.usage("encrypt needs a key", advice: "Add --password or --key-file FILE.")
    }
    let word = try arguments.text(of: .cipher)
    let suite = CipherSuite.allCases.first { $0.word == word } ?? .aes256
    try FileKey.$current.withValue(nil) {
      try Database.open(
        path: try arguments.text(0), .openExisting, waiting: try arguments.lockTimeout(), suite: suite
      ).closing { try $0.store.changeEncryptionKey(to: derived(key, arguments)) }
    }
    try console.sentence("The database is encrypted.")
    return .success
  }

  static let decrypt = CommandDescription(
    name: "decrypt",
    summary: "write an encrypted database again without encryption",
    operands: [.database],
    options: [.wait],
    discussion: [
      "The file is written again by a compaction. After a crash at any moment it is the old one or the new "
        + "one, each complete. Backups stay encrypted, and open with the old key."
    ],
    examples: [
      ExampleDescription(
        line: "latewood decrypt my.latewood --password", explanation: "Asks for the password.")
    ]
  ) { arguments, console in
    try Database.open(arguments, .openExisting).closing { database in
      guard database.store.isEncrypted else {
        throw Failure(
          .cannotOpen, code: "notEncrypted", "the file is not encrypted", path: database.path)
      }
      try database.store.changeEncryptionKey(to: nil)
    }
    try console.sentence("The database is not encrypted any more.")
    return .success
  }

  static let rekey = CommandDescription(
    name: "rekey",
    summary: "change the key or the password of an encrypted database",
    operands: [.database],
    options: FileKey.Options.new.all + [.newFileKey, .pbkdf2, .wait],
    discussion: [
      "A file is encrypted with a key of its own, which is stored in it, encrypted with your key. This command encrypts "
        + "that key again, which is quick. Backups and copies that were made before still open with the old key.",
      "If somebody may know the old key and have a copy of the file, use --new-file-key: the file "
        + "is then written again with a new key of its own, by a compaction.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood rekey my.latewood --password --new-password",
        explanation: "Asks for the old password, and twice for the new one.")
    ]
  ) { arguments, console in
    try Database.open(arguments, .openExisting).closing { database in
      guard database.store.isEncrypted else {
        throw Failure(
          .cannotOpen, code: "notEncrypted", "the file is not encrypted",
          advice: "`latewood encrypt` encrypts it.", path: database.path)
      }
      guard let key = try FileKey.given(by: .new, arguments, isNew: true, console) else {
        throw Failure.usage(
          "rekey needs a new key", advice: "Add --new-password or --new-key-file FILE.")
      }
      try database.store.changeEncryptionKey(
        to: derived(key, arguments), renewingFileKey: arguments.has(.newFileKey))
    }
    try console.sentence("The key is changed.")
    return .success
  }

  /// Returns a new key with the derivation that the options choose.
  private static func derived(_ key: EncryptionKey, _ arguments: Arguments) throws -> EncryptionKey {
    guard arguments.has(.pbkdf2) else { return key }
    guard case .password(let password) = key.kind else {
      throw Failure.usage("--pbkdf2 is only for passwords", advice: "A key file needs no derivation.")
    }
    return .password(password, derivation: .pbkdf2())
  }
}
