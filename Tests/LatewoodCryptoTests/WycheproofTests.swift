import LatewoodCrypto
import LatewoodDevice
import LatewoodFleece
import LatewoodSimulation
import Testing

/// The vectors of Project Wycheproof, from `shared/oracles/crypto` next to the repository: edge
/// cases of carries, lengths and counters, and forgeries that must be refused.
@Suite("Wycheproof")
struct WycheproofTests {
  /// A test of a file, together with its group.
  struct Vector {
    let group: FleeceElement
    let test: FleeceElement

    func bytes(_ name: String) throws -> Bytes { Bytes(hex: try test.element(for: name)?.string() ?? "") }
    func number(_ name: String) throws -> Int {
      for element in [test, group] {
        if case .integer(let number)? = try element.element(for: name)?.number() { return Int(number) }
      }
      return 0
    }
    var isValid: Bool { (try? test.element(for: "result")?.string()) == "valid" }
    var name: Comment { "test \((try? number("tcId")) ?? 0)" }
  }

  /// Returns the tests of a file; none if the file does not exist.
  static func vectors(_ name: String) throws -> [Vector] {
    for place in ["..", "../.."] {
      let path = Repository.path("\(place)/shared/oracles/crypto/\(name)")
      guard try FileVolume().exists(path) else { continue }
      let root = try FleeceBody(JSON.fleece(from: Repository.read(FileVolume(), path))).root
      return try elements(of: root, "testGroups").flatMap { group in
        try elements(of: group, "tests").map { Vector(group: group, test: $0) }
      }
    }
    print("shared/oracles/crypto/\(name) is not there; the test is skipped")
    return []
  }

  static func elements(of element: FleeceElement, _ name: String) throws -> [FleeceElement] {
    guard let array = try element.element(for: name), let count = try array.count() else { return [] }
    return try (0..<count).compactMap { try array.element(at: $0) }
  }

  @Test func `ChaCha20-Poly1305 seals valid texts, and opens no others`() throws {
    for vector in try WycheproofTests.vectors("chacha20_poly1305_test.json") {
      // The module supports only these nonces: passing another size is a programming error.
      guard try vector.number("ivSize") == 96 else { continue }
      let (key, nonce, data) = (try vector.bytes("key"), try vector.bytes("iv"), try vector.bytes("aad"))
      let (text, sealed, tag) = (try vector.bytes("msg"), try vector.bytes("ct"), try vector.bytes("tag"))
      let opened = ChaCha20Poly1305Tests.open(sealed, tag: tag, key: key, nonce: nonce, data: data)
      #expect(opened == (vector.isValid ? text : nil), vector.name)
      if vector.isValid {
        let found = ChaCha20Poly1305Tests.seal(text, key: key, nonce: nonce, data: data)
        #expect(found.text == sealed && found.tag == tag, vector.name)
      }
    }
  }

  @Test func `AES in counter mode makes the texts of AES-256-GCM`() throws {
    for vector in try WycheproofTests.vectors("aes_gcm_test.json") {
      guard try vector.number("ivSize") == 96, try vector.number("keySize") == 256, vector.isValid else {
        continue
      }
      // GCM encrypts the text with the second and later counters. The first one is for the tag.
      let counter = (try vector.bytes("iv") + [0, 0, 0, 2]).withUnsafeBytes { AES256.Counter($0) }
      let text = AESTests.applied(
        try vector.bytes("msg"), AES256(key: try vector.bytes("key").secret), counter)
      let expected = try vector.bytes("ct")
      #expect(text == expected, vector.name)
    }
  }

  @Test func `AES makes the tags of AES-256-CMAC`() throws {
    for vector in try WycheproofTests.vectors("aes_cmac_test.json") {
      guard try vector.number("keySize") == 256, vector.isValid else { continue }
      let tag = WycheproofTests.cmac(try vector.bytes("msg"), AES256(key: try vector.bytes("key").secret))
      let expected = try vector.bytes("tag")
      #expect(Bytes(tag.prefix(expected.count)) == expected, vector.name)
    }
  }

  /// AES-CMAC (RFC 4493) with the block cipher of the module, which does not include CMAC.
  static func cmac(_ message: Bytes, _ cipher: AES256) -> Bytes {
    func doubled(_ bytes: Bytes) -> Bytes {
      var result = bytes.indices.map { at in
        bytes[at] << 1 | (at + 1 < bytes.count ? bytes[at + 1] >> 7 : 0)
      }
      if bytes[0] & 0x80 != 0 { result[15] ^= 0x87 }
      return result
    }
    let first = doubled(AESTests.encrypted(Bytes(repeating: 0, count: 16), cipher))
    let isWhole = !message.isEmpty && message.count % 16 == 0
    let padding: Bytes = isWhole ? [] : [0x80] + Bytes(repeating: 0, count: 15 - message.count % 16)
    var padded = message + padding
    for (at, byte) in (isWhole ? first : doubled(first)).enumerated() {
      padded[padded.count - 16 + at] ^= byte
    }
    var state = Bytes(repeating: 0, count: 16)
    for at in stride(from: 0, to: padded.count, by: 16) {
      state = AESTests.encrypted(zip(state, padded[at..<(at + 16)]).map { $0 ^ $1 }, cipher)
    }
    return state
  }

  @Test func `HMAC with SHA-256 makes the tags of valid messages only`() throws {
    for vector in try WycheproofTests.vectors("hmac_sha256_test.json") {
      let expected = try vector.bytes("tag")
      let tag = HMAC<SHA256>.tag(of: try vector.bytes("msg"), key: try vector.bytes("key"))
      #expect((Bytes(tag.prefix(expected.count)) == expected) == vector.isValid, vector.name)
    }
  }

  @Test func `HKDF with SHA-256 makes the keys of all sizes that it allows`() throws {
    for vector in try WycheproofTests.vectors("hkdf_sha256_test.json") where vector.isValid {
      let key = KeyDerivationTests.hkdf(
        try vector.bytes("ikm"), try vector.bytes("salt"), try vector.bytes("info"), try vector.number("size")
      )
      let expected = try vector.bytes("okm")
      #expect(key == expected, vector.name)
    }
  }

  @Test func `PBKDF2 with SHA-256 makes the keys of valid tests`() throws {
    for vector in try WycheproofTests.vectors("pbkdf2_hmacsha256_test.json") where vector.isValid {
      let rounds = try vector.number("iterationCount")
      guard rounds <= Effort.count(1_000_000, low: 5000) else { continue }
      let (password, salt) = (try vector.bytes("password"), try vector.bytes("salt"))
      let count = try vector.number("dkLen")
      let key = password.withUnsafeBytes { password in
        salt.withUnsafeBytes {
          Bytes(PBKDF2<SHA256>.derive(password: password, salt: $0, rounds: rounds, count: count))
        }
      }
      let expected = try vector.bytes("dk")
      #expect(key == expected, vector.name)
    }
  }
}
