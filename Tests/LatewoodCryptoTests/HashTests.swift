import LatewoodCrypto
import Testing

@Suite("Hash functions")
struct HashTests {
  /// Input and digest: RFC 6234, section 8.5 (tests 1 to 4 and 6), and the empty input.
  static let sha256: [(Bytes, String)] = [
    (Bytes(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    (Bytes("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      Bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      Bytes(repeating: 0x61, count: 1_000_000),
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    ),
    (
      Bytes(String(repeating: "01234567", count: 80)),
      "594847328451bdfa85056225462cc1d867d877fb388df0ce35f25ab5562bfbb5"
    ),
    ([0x19], "68aa2e2ee5dff96e3355e6c7ee373e3d6a4e17f75f9518d843709c0c9bc3e3d4"),
  ]

  @Test func `SHA-256 has the digests of RFC 6234`() {
    for (input, digest) in HashTests.sha256 { #expect(SHA256.digest(of: input).hex == digest) }
  }

  @Test func `SHA-1 has the digests of RFC 6234`() {
    let vectors: [(Bytes, String)] = [
      (Bytes("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d"),
      (
        Bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
        "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
      ),
      (Bytes(repeating: 0x61, count: 1_000_000), "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
      (Bytes(String(repeating: "01234567", count: 80)), "dea356a2cddd90c7a7ecedc5ebb563934f460452"),
    ]
    for (input, digest) in vectors { #expect(SHA1.digest(of: input).hex == digest) }
  }

  @Test func `MD5 has the digests of RFC 1321`() {
    let vectors = [
      "": "d41d8cd98f00b204e9800998ecf8427e", "a": "0cc175b9c0f1b6a831c399e269772661",
      "abc": "900150983cd24fb0d6963f7d28e17f72", "message digest": "f96b697d7cb7938d525a2f31aaf161d0",
      "abcdefghijklmnopqrstuvwxyz": "c3fcd3d76192e4007dfb496cca67e13b",
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789": "d174ab98d277d9f5a5611c2c9f419d9f",
      String(repeating: "1234567890", count: 8): "57edf4a22be3c955ac49da2e2107b67a",
    ]
    for (input, digest) in vectors { #expect(MD5.digest(of: Bytes(input)).hex == digest) }
  }

  @Test func `BLAKE2b has the digest of RFC 7693, appendix A`() {
    #expect(
      BLAKE2b.digest(of: Bytes("abc"))
        == Bytes(
          hex: """
            ba80a53f981c4d0d6a2797b69f12f6e9 4c212f14685ac4b74b12bb6fdbffa2d1
            7d87c5392aab792dc252d5de4533cc95 18d38aa8dbf1925ab92386edd4009923
            """))
  }

  @Test func `BLAKE2b passes the self-test of RFC 7693, appendix E, with and without keys`() {
    func sequence(_ count: Int, _ seed: UInt32) -> Bytes {
      var (a, b) = (0xDEAD_4BAD &* seed, UInt32(1))
      return (0..<count).map { _ in
        (a, b) = (b, a &+ b)
        return UInt8(b >> 24)
      }
    }
    var all: Bytes = []
    for size in [20, 32, 48, 64] {
      for count in [0, 3, 128, 129, 255, 1024] {
        let input = sequence(count, UInt32(count))
        all += BLAKE2b.digest(of: input, size: size)
        all += BLAKE2b.digest(of: input, key: sequence(size, UInt32(size)), size: size)
      }
    }
    let digest = BLAKE2b.digest(of: all, size: 32)
    #expect(digest.hex == "c23a7800d98123bd10f506c61e29da5603d763b8bbad2e737f5e765a7bccd475")
  }

  static func agreesInPieces<Hash: HashFunction>(_ type: Hash.Type) {
    for count in [0, 1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 129, 200] {
      let input = Bytes.pattern(count)
      let whole = Hash.digest(of: input)
      for first in 0...count {
        let second = (first + count) / 2
        var hash = Hash()
        for piece in [input[..<first], input[first..<second], input[second...]] {
          piece.withUnsafeBytes { hash.update($0) }
        }
        #expect(hash.digest() == whole, "\(count) bytes cut at \(first) and \(second)")
      }
    }
  }

  @Test func `inputs in pieces have the digests of the whole`() {
    HashTests.agreesInPieces(SHA256.self)
    HashTests.agreesInPieces(SHA1.self)
    HashTests.agreesInPieces(MD5.self)
  }

  @Test(arguments: [0, 32]) func `BLAKE2b takes its input in pieces`(keySize: Int) {
    for count in [0, 1, 127, 128, 129, 255, 256, 257, 300] {
      let input = Bytes.pattern(count)
      let whole = BLAKE2b.digest(of: input, key: .pattern(keySize))
      for first in 0...count {
        let second = (first + count) / 2
        var hash = Bytes.pattern(keySize).withUnsafeBytes { BLAKE2b(digestSize: 64, key: $0) }
        for piece in [input[..<first], input[first..<second], input[second...]] {
          piece.withUnsafeBytes { hash.update($0) }
        }
        #expect(hash.digest == whole, "\(count) bytes cut at \(first) and \(second)")
      }
    }
  }

  @Test func `the input can be continued after a digest`() {
    var hash = SHA256()
    var blake = BLAKE2b(digestSize: 64)
    for count in 0...130 {
      #expect(hash.digest() == SHA256.digest(of: Bytes(repeating: 5, count: count)))
      #expect(blake.digest == BLAKE2b.digest(of: Bytes(repeating: 5, count: count)))
      withUnsafeBytes(of: UInt8(5)) {
        hash.update($0)
        blake.update($0)
      }
    }
  }
}

@Suite("HMAC")
struct HMACTests {
  /// Key, message, tag of HMAC-SHA-256: RFC 4231, section 4, in which test 5 has a truncated tag.
  static let vectors: [(Bytes, Bytes, String)] = [
    (
      Bytes(repeating: 0x0B, count: 20), Bytes("Hi There"),
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      Bytes("Jefe"), Bytes("what do ya want for nothing?"),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      Bytes(repeating: 0xAA, count: 20), Bytes(repeating: 0xDD, count: 50),
      "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
    ),
    (
      Bytes(1...25), Bytes(repeating: 0xCD, count: 50),
      "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
    ),
    (Bytes(repeating: 0x0C, count: 20), Bytes("Test With Truncation"), "a3b6167473100ee06e0c796c2955552b"),
    (
      Bytes(repeating: 0xAA, count: 131), Bytes("Test Using Larger Than Block-Size Key - Hash Key First"),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
    (
      Bytes(repeating: 0xAA, count: 131),
      Bytes(
        "This is a test using a larger than block-size key and a larger than block-size data. "
          + "The key needs to be hashed before being used by the HMAC algorithm."),
      "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
    ),
  ]

  @Test func `the tags of RFC 4231 hold`() {
    for (key, message, tag) in HMACTests.vectors {
      #expect(HMAC<SHA256>.tag(of: message, key: key).hex.hasPrefix(tag))
    }
  }

  @Test func `HMAC-SHA-1 has the first tags of RFC 2202`() {
    #expect(
      HMAC<SHA1>.tag(of: Bytes("Hi There"), key: Bytes(repeating: 0x0B, count: 20)).hex
        == "b617318655057264e28bc0b6fb378c8ef146be00")
    #expect(
      HMAC<SHA1>.tag(of: Bytes("what do ya want for nothing?"), key: Bytes("Jefe")).hex
        == "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79")
  }

  @Test func `keys around the size of a block are padded or hashed`() {
    for size in [63, 64, 65] {
      let key = Bytes.pattern(size)
      let padded = size > 64 ? SHA256.digest(of: key) : key
      let block = padded + Bytes(repeating: 0, count: 64 - padded.count)
      let inner = SHA256.digest(of: block.map { $0 ^ 0x36 } + Bytes("text"))
      #expect(
        HMAC<SHA256>.tag(of: Bytes("text"), key: key) == SHA256.digest(of: block.map { $0 ^ 0x5C } + inner))
    }
  }
}
