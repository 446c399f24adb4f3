import LatewoodStore

extension OptionDescription {
  static let cipher = OptionDescription(
    name: "--cipher", value: "WORD", summary: "the cipher suite; aes256 if not given",
    choices: CipherSuite.allCases.map(\.word))
  static let pbkdf2 = OptionDescription(
    name: "--pbkdf2", summary: "derive the key from the password by PBKDF2, not Argon2id")
  static let newFileKey = OptionDescription(
    name: "--new-file-key", summary: "also encrypt the file again, with a new file key")
}

extension CommandDescription {
  static let encrypt = CommandDescription(
    name: "encrypt",
    summary: "encrypt a database in place",
    operands: [.database],
    options: [.cipher, .pbkdf2, .wait],
    discussion: [
      "--key-file, --password or --password-fd sets the key. A key file contains 32 random bytes, or 64 "
        + "hexadecimal digits. Without the key, nobody can read the database, not even its owner, so keep a "
        + "copy of the key in a different place from the database.",
      "A compaction rewrites the file. After a crash at any moment, the file is either the old one or the new one, "
        + "and complete. Earlier backups and copies stay unencrypted, and so do blocks of the old file that the disk has "
        + "not overwritten yet.",
      "Sizes, times and the number of commits are not secret. aes256 is AES-256 with Poly1305. chacha20 is "
        + "XChaCha20-Poly1305, which is about twice as fast. The key is derived from a password by Argon2id with 64 MiB "
        + "of memory and three passes or, with --pbkdf2, by 600,000 rounds of PBKDF2 with HMAC-SHA-256.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood encrypt my.latewood --password", explanation: "Asks for a password, twice."),
      ExampleDescription(
        line: "latewood encrypt my.latewood --key-file my.key",
        explanation: "`head -c 32 /dev/urandom > my.key` creates a key file."),
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
    summary: "remove the encryption from a database, in place",
    operands: [.database],
    options: [.wait],
    discussion: [
      "A compaction rewrites the file. After a crash at any moment, the file is either the old one or the new one, "
        + "and complete. Backups stay encrypted, and open with the old key."
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
    try console.sentence("The database is no longer encrypted.")
    return .success
  }

  static let rekey = CommandDescription(
    name: "rekey",
    summary: "change the key or the password of an encrypted database",
    operands: [.database],
    options: FileKey.Options.new.all + [.newFileKey, .pbkdf2, .wait],
    discussion: [
      "Each file is encrypted with its own file key, which is stored in the file, encrypted with your key. This command "
        + "encrypts only the file key again, which is quick. Earlier backups and copies still open with the old key.",
      "If somebody may know the old key and have a copy of the file, use --new-file-key: a compaction then "
        + "rewrites the file with a new file key.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood rekey my.latewood --password --new-password",
        explanation: "Asks for the old password, then twice for the new one.")
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
    try console.sentence("The key has been changed.")
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
