import LatewoodCrypto
import LatewoodDevice
import LatewoodFile
import LatewoodSimulation
import LatewoodStore
import Testing

/// The encrypted files in Tests/golden-encrypted. Their names are the suite and the kind of key.
/// The independent reader opens them with the same keys.
@Suite(.serialized) struct EncryptedGoldenTests {
  private struct EncryptedFile {
    var name: String
    var options: Store.Options
    var store: ModelledStore

    var path: String { "Tests/golden-encrypted/\(name).latewood" }
    var expectedPath: String { "Tests/golden-encrypted/\(name).expected.jsonl" }

    init(
      _ name: String, _ key: LatewoodFile.EncryptionKey, _ suite: LatewoodFile.CipherSuite
    ) throws {
      self.name = name
      var options = Store.Options()
      options.encryption = NewEncryption(key, suite: suite)
      self.options = options
      store = try GoldenFile.checkpointedStore(options)
    }

    /// Returns this file under another name, after two anchors and a commit.
    func anchored(_ name: String) throws -> EncryptedFile {
      var file = self
      file.name = name
      _ = try store.store.anchor()
      try store.commit(.put("sizes", "anchored", "once"))
      _ = try store.store.anchor()
      try store.commit(.put("sizes", "anchored", "twice"))
      return file
    }

    static func all() throws -> [EncryptedFile] {
      func password(
        _ derivation: LatewoodFile.PasswordDerivation
      ) -> LatewoodFile.EncryptionKey { .password("correct horse", derivation: derivation) }
      let raw = LatewoodFile.EncryptionKey.raw(
        SecretBytes(count: 32) { bytes in for at in 0..<32 { bytes[at] = UInt8(at) } })
      return [
        try EncryptedFile("aes256-raw", raw, .aes256),
        try EncryptedFile(
          "aes256-argon2id", password(.argon2id(memory: 65536, passes: 1)), .aes256),
        try EncryptedFile("chacha20-raw", raw, .chaCha20),
        try EncryptedFile("chacha20-pbkdf2", password(.pbkdf2(rounds: 1000)), .chaCha20),
        try EncryptedFile("", raw, .chaCha20).anchored("anchors-raw"),
      ]
    }
  }

  @Test func `the writer still produces every encrypted golden file byte for byte`() throws {
    for file in try EncryptedFile.all() {
      let (bytes, listing) = (try file.store.bytes(), file.store.model.listing)
      if GoldenFileTests.isRegenerating {
        try Repository.write(bytes, to: Repository.path(file.path))
        try Repository.write(Array(listing.utf8), to: Repository.path(file.expectedPath))
      }
      #expect(try Repository.read(file.path) == bytes, "\(file.name)")
      #expect(String(decoding: try Repository.read(file.expectedPath), as: UTF8.self) == listing)
    }
  }

  @Test func `the folder of encrypted files has no others`() throws {
    let names = try Directories.names(in: Repository.path("Tests/golden-encrypted")).sorted()
    let expected = try EncryptedFile.all().flatMap { ["\($0.name).latewood", "\($0.name).expected.jsonl"] }
    #expect(names == expected.sorted())
  }

  @Test func `every encrypted golden file reads as expected, and only with its key`() throws {
    for file in try EncryptedFile.all() {
      let path = Repository.path(file.path)
      let store = try Store.open(at: path, mode: .readOnly, options: file.options)
      #expect(try store.listing() == file.store.model.listing, "\(file.name)")
      #expect(try store.verify().faults == [], "\(file.name)")
      try store.close()
      var wrong = Store.Options()
      wrong.encryption = NewEncryption(.raw(SecretBytes(count: 32) { _ in }))
      #expect(throws: StoreError.self) { try Store.open(at: path, mode: .readOnly, options: wrong) }
    }
  }
}
