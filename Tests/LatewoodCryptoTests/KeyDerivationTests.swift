import LatewoodBytes
import LatewoodCrypto
import LatewoodSimulation
import Testing

@Suite("Key derivation")
struct KeyDerivationTests {
  static func hkdf(_ secret: Bytes, _ salt: Bytes, _ info: Bytes, _ count: Int) -> Bytes {
    secret.withUnsafeBytes { secret in
      salt.withUnsafeBytes { salt in
        info.withUnsafeBytes { Bytes(HKDF<SHA256>.derive(from: secret, salt: salt, info: $0, count: count)) }
      }
    }
  }

  static func pbkdf2<Hash: HashFunction>(
    _ type: Hash.Type, _ password: String, _ salt: String, _ rounds: Int, _ count: Int
  ) -> String {
    Bytes(password).withUnsafeBytes { password in
      Bytes(salt).withUnsafeBytes {
        Bytes(PBKDF2<Hash>.derive(password: password, salt: $0, rounds: rounds, count: count)).hex
      }
    }
  }

  static func argon2id(
    _ function: Argon2id, _ password: Bytes, _ salt: Bytes, _ secret: Bytes = [], _ data: Bytes = [],
    count: Int
  ) throws(StorageError) -> Bytes {
    // No closures that throw typed errors, which the optimizer cannot handle in tests.
    let inputs = [password, salt, secret, data].map { $0.secret }
    return Bytes(
      try inputs[0].withUnsafeBytes { password throws(StorageError) in
        try inputs[1].withUnsafeBytes { salt throws(StorageError) in
          try inputs[2].withUnsafeBytes { secret throws(StorageError) in
            try inputs[3].withUnsafeBytes { data throws(StorageError) in
              try function.derive(
                password: password, salt: salt, secret: secret, associatedData: data, count: count)
            }
          }
        }
      })
  }

  @Test func `HKDF has the keys of RFC 5869, appendix A`() {
    #expect(
      KeyDerivationTests.hkdf(
        Bytes(repeating: 0x0B, count: 22), Bytes(0...0x0C), Bytes(0xF0...0xF9), 42
      ).hex == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
    #expect(
      KeyDerivationTests.hkdf(Bytes(0...0x4F), Bytes(0x60...0xAF), Bytes(0xB0...0xFF), 82)
        == Bytes(
          hex: """
            b11e398dc80327a1c8e7f78c596a4934 4f012eda2d4efad8a050cc4c19afa97c
            59045a99cac7827271cb41c65e590e09 da3275600c2f09b8367793a9aca3db71
            cc30c58179ec3e87c14c01d5c1f3434f 1d87
            """))
    #expect(
      KeyDerivationTests.hkdf(Bytes(repeating: 0x0B, count: 22), [], [], 42).hex
        == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8")
  }

  @Test func `PBKDF2 with SHA-256 has the first key of RFC 7914, section 11`() {
    #expect(
      KeyDerivationTests.pbkdf2(SHA256.self, "passwd", "salt", 1, 64)
        == Bytes(
          hex: """
            55ac046e56e3089fec1691c22544b605 f94185216dde0465e68b9d57c20dacbc
            49ca9cccf179b645991664b39d77ef31 7c71b845b1e30bd509112041d3a19783
            """
        ).hex)
  }

  @Test(.enabled(if: !Effort.isLow))
  func `PBKDF2 with SHA-256 has the second key of RFC 7914, of 80,000 rounds`() {
    #expect(
      KeyDerivationTests.pbkdf2(SHA256.self, "Password", "NaCl", 80_000, 64)
        == Bytes(
          hex: """
            4ddcd8f60b98be21830cee5ef22701f9 641a4418d04c0414aeff08876b34ab56
            a1d425a1225833549adb841b51c9b317 6a272bdebba1d078478f62b397f33c8d
            """
        ).hex)
  }

  @Test func `PBKDF2 with SHA-1 has the keys of RFC 6070`() {
    let pbkdf2 = { KeyDerivationTests.pbkdf2(SHA1.self, $0, $1, $2, $3) }
    #expect(pbkdf2("password", "salt", 1, 20) == "0c60c80f961f0e71f3a9b524af6012062fe037a6")
    #expect(pbkdf2("password", "salt", 2, 20) == "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957")
    #expect(pbkdf2("password", "salt", 4096, 20) == "4b007901b765489abead49d926f721d065a429c1")
    #expect(
      pbkdf2("passwordPASSWORDpassword", "saltSALTsaltSALTsaltSALTsaltSALTsalt", 4096, 25)
        == "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038")
    #expect(pbkdf2("pass\0word", "sa\0lt", 4096, 16) == "56fa6aa75548099dcc37d7f03425e0c3")
  }

  @Test func `Argon2id has the tag of RFC 9106, section 5-3`() throws {
    let tag = try KeyDerivationTests.argon2id(
      Argon2id(memory: 32, passes: 3, lanes: 4), Bytes(repeating: 1, count: 32),
      Bytes(repeating: 2, count: 16),
      Bytes(repeating: 3, count: 8), Bytes(repeating: 4, count: 12), count: 32)
    #expect(tag.hex == "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659")
  }

  @Test func `costs that RFC 9106 does not allow are refused`() {
    for (memory, passes, lanes) in [(7, 1, 1), (8, 0, 1), (8, 1, 0), (31, 1, 4), (-8, 1, 1), (8, -1, 1)] {
      let error = #expect(throws: StorageError.self) {
        _ = try Argon2id(memory: memory, passes: passes, lanes: lanes)
      }
      #expect(error?.kind == .unsupported)
    }
  }
}
