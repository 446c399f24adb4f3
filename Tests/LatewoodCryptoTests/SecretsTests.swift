import LatewoodCrypto
import Testing

@Suite("Secrets")
struct SecretsTests {
  @Test func `equal bytes are equal, and each changed byte or length is not`() {
    for count in [0, 1, 7, 8, 9, 16, 31, 32, 33] {
      let bytes = Bytes.pattern(count)
      #expect(bytes.secret == bytes.secret)
      #expect(bytes.secret != (bytes + [0]).secret)
      for at in 0..<count {
        for bit in 0..<8 {
          var other = bytes
          other[at] ^= 1 << UInt8(bit)
          #expect(bytes.secret != other.secret)
        }
      }
    }
  }

  @Test func `all bits of tags are compared`() {
    let tag = AuthenticationTag(low: 5, high: 6)
    #expect(tag == AuthenticationTag(low: 5, high: 6))
    for bit in 0..<64 {
      #expect(tag != AuthenticationTag(low: 5 ^ 1 << bit, high: 6))
      #expect(tag != AuthenticationTag(low: 5, high: 6 ^ 1 << bit))
      // Differences in both halves do not cancel out.
      #expect(tag != AuthenticationTag(low: 5 ^ 1 << bit, high: 6 ^ 1 << bit))
    }
  }

  @Test func `wiping zeroes all bytes and no others`() {
    for count in [0, 1, 7, 64, 1000] {
      var bytes = Bytes(repeating: 0xFF, count: count + 2)
      bytes.withUnsafeMutableBytes {
        SecureMemory.wipe(UnsafeMutableRawBufferPointer(rebasing: $0[1..<(count + 1)]))
      }
      #expect(bytes == [0xFF] + Bytes(repeating: 0, count: count) + [0xFF])
    }
  }

  @Test func `random bytes fill any size, and differ`() throws {
    for count in [1, 255, 256, 257, 1000] {
      let found = try (0..<200).map { _ in Bytes(try SecretBytes.random(count: count)) }
      // Each byte was written: the chance that 200 random bytes are all the same is 2^-1592.
      for at in 0..<count { #expect(Set(found.map { $0[at] }).count > 1, "byte \(at) of \(count)") }
    }
  }

  @Test func `no description contains the bytes`() {
    let secret = Bytes("correct horse").secret
    var dumped = ""
    dump(secret, to: &dumped)
    for text in ["\(secret)", String(reflecting: secret), dumped] {
      #expect(text.contains("13 secret bytes") && !text.contains("horse") && !text.contains("99"), "\(text)")
    }
  }
}
