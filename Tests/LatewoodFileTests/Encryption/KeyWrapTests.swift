import LatewoodBytes
import LatewoodCrypto
import LatewoodSimulation
import Testing

@testable import LatewoodFile

@Suite struct KeyWrapTests {
  private let fileKey = SecretBytes(count: 32) { bytes in for at in 0..<32 { bytes[at] = UInt8(at) } }

  private func password(_ text: String) -> EncryptionKey {
    .password(Array(text.utf8).withUnsafeBytes { SecretBytes(copying: $0) })
  }

  private func raw(_ byte: UInt8, count: Int = 32) -> EncryptionKey {
    .raw(SecretBytes(count: count) { bytes in for at in 0..<count { bytes[at] = byte } })
  }

  private func wrap(
    _ key: EncryptionKey, _ derivation: KeyDerivation, _ suite: CipherSuite = .aes256
  ) throws -> KeyWrap {
    var random = SeededRandom(seed: 9)
    return try KeyWrap(fileKey, suite: suite, with: key, by: derivation) { random.next() }
  }

  private func cheap() throws -> KeyDerivation { .argon2id(try Argon2id(memory: 64, passes: 1, lanes: 1)) }

  @Test(arguments: CipherSuite.allCases)
  func `only the key that wrapped a file's key unwraps it`(_ suite: CipherSuite) throws {
    for (key, derivation) in [
      (raw(1), .raw), (password("correct horse"), try cheap()), (password("x"), .pbkdf2(rounds: 10)),
    ] as [(EncryptionKey, KeyDerivation)] {
      let wrap = try wrap(key, derivation, suite)
      #expect(try wrap.unwrapped(by: key, suite: suite) == fileKey)
      for other in [raw(2), raw(1, count: 31), password("correct horse "), password("")] {
        #expect(try wrap.unwrapped(by: other, suite: suite) == nil)
      }
    }
  }

  @Test func `a raw key that is not 32 bytes long, or a password without a derivation, is refused`() throws {
    #expect(faultKind { _ = try wrap(raw(1, count: 16), .raw) } == .wrongKey)
    #expect(faultKind { _ = try wrap(password("x"), .raw) } == .wrongKey)
    #expect(faultKind { _ = try wrap(raw(1), try cheap()) } == .wrongKey)
  }

  @Test func `the copies in the blocks of both slots survive the damage of one`() throws {
    let wrap = try wrap(password("x"), try cheap())
    let codec = UnitCodec(seed: 5)
    var block = [UInt8](repeating: 0, count: FileLayout.slotBlockLength)
    block.withUnsafeMutableBytes { bytes in
      if let base = bytes.baseAddress { wrap.encode(intoSlotBlock: base, codec: codec) }
    }
    #expect(block.withUnsafeBytes { KeyWrap.decode(fromSlotBlock: $0, codec: codec) } == wrap)
    for bit in 0..<KeyWrap.length * 8 {
      var changed = block
      changed[KeyWrap.blockOffset + bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(changed.withUnsafeBytes { KeyWrap.decode(fromSlotBlock: $0, codec: codec) } == nil)
    }
    #expect(block.withUnsafeBytes { KeyWrap.decode(fromSlotBlock: $0, codec: UnitCodec(seed: 6)) } == nil)
    let short = Array(block[..<KeyWrap.blockOffset])
    #expect(short.withUnsafeBytes { KeyWrap.decode(fromSlotBlock: $0, codec: codec) } == nil)
  }

  @Test func `a file cannot ask for more memory, passes or rounds than a reader allows`() throws {
    let hostile: [(UInt8, UInt32, UInt32, UInt32)] = [
      (1, 1, 1 << 20 + 1, 1), (1, 65, 64, 1), (1, 1, 1 << 20, 65), (1, 0, 64, 1), (1, 1, 0, 1), (1, 1, 64, 0),
      (1, .max, .max, .max), (2, 0, 0, 0), (2, 1 << 26 + 1, 0, 0), (3, 1, 64, 1), (255, 1, 64, 1),
    ]
    for (code, first, second, third) in hostile {
      var bytes = [UInt8](repeating: 0, count: 16)
      let kind = bytes.withUnsafeMutableBytes { bytes -> StorageError.Kind? in
        guard let base = bytes.baseAddress else { return nil }
        base.set(code, at: 0)
        base.set(first, at: 4)
        base.set(second, at: 8)
        base.set(third, at: 12)
        return faultKind { _ = try KeyDerivation.decode(from: base) }
      }
      #expect(kind == .unsupported, "\(code) \(first) \(second) \(third)")
    }
  }

  @Test func `a key is not wrapped by a derivation that a reader would refuse`() throws {
    let refused: [KeyDerivation] = [
      .argon2id(try Argon2id(memory: 64, passes: 65, lanes: 1)),
      .argon2id(try Argon2id(memory: 520, passes: 1, lanes: 65)),
      .argon2id(try Argon2id(memory: 1 << 20 + 1, passes: 1, lanes: 1)),
      .pbkdf2(rounds: 0), .pbkdf2(rounds: -1), .pbkdf2(rounds: 1 << 26 + 1), .pbkdf2(rounds: .max),
    ]
    for derivation in refused {
      #expect(faultKind { _ = try wrap(password("x"), derivation) } == .unsupported, "\(derivation)")
    }
    // The greatest cost in one way is no cost in the others.
    for derivation in [.argon2id(try Argon2id(memory: 512, passes: 64, lanes: 64))] as [KeyDerivation] {
      let wrap = try wrap(password("x"), derivation)
      #expect(try wrap.unwrapped(by: password("x"), suite: .aes256) == fileKey)
    }
  }
}
