import LatewoodCrypto
import Testing

@Suite("AES-256")
struct AESTests {
  static func encrypted(_ block: Bytes, _ cipher: AES256) -> Bytes {
    written(block) { source, target in
      if let source = source.baseAddress, let target = target.baseAddress {
        cipher.encrypt(source, into: target)
      }
    }
  }

  static func applied(_ text: Bytes, _ cipher: AES256, _ counter: AES256.Counter, at offset: UInt64 = 0)
    -> Bytes
  {
    written(text) { cipher.apply($0, into: $1, counter: counter, at: offset) }
  }

  static let key = Bytes(hex: "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
  static let plaintext = Bytes(
    hex: """
      6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
      30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710
      """)

  @Test func `the example of FIPS 197 holds`() {
    let cipher = AES256(key: Bytes(0..<32).secret)
    let block = Bytes(hex: "00112233445566778899aabbccddeeff")
    #expect(AESTests.encrypted(block, cipher).hex == "8ea2b7ca516745bfeafc49904b496089")
  }

  @Test func `the block cipher has the values of SP 800-38A, section F-1-5`() {
    let cipher = AES256(key: AESTests.key.secret)
    let expected = [
      "f3eed1bdb5d2a03c064b5a7e3db181f8", "591ccb10d410ed26dc5ba74a31362870",
      "b6ed21b99ca6f4f9f153e7b1beafed1d", "23304b7a39f9f3ff067d8d8f9e24ecc7",
    ]
    for (at, block) in expected.enumerated() {
      #expect(AESTests.encrypted(Bytes(AESTests.plaintext[(16 * at)..<(16 * at + 16)]), cipher).hex == block)
    }
  }

  @Test func `the counter mode has the values of SP 800-38A, section F-5-5`() {
    let counter = Bytes(hex: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff").withUnsafeBytes { AES256.Counter($0) }
    let expected = Bytes(
      hex: """
        601ec313775789a5b7a7f504bbf3d228 f443e3ca4d62b59aca84e990cacaf5c5
        2b0930daa23de94ce87017ba2d84988d dfc9c58db67aada613c2dd08457941a6
        """)
    #expect(AESTests.applied(AESTests.plaintext, AES256(key: AESTests.key.secret), counter) == expected)
  }

  @Test func `the keystream is made of the encrypted counters, and carries into the high half`() {
    let cipher = AES256(key: AESTests.key.secret)
    let counter = AES256.Counter(high: 7, low: .max - 20)
    let keystream = AESTests.applied(Bytes(repeating: 0, count: 16 * 70), cipher, counter)
    for block in 0..<70 {
      let (low, overflow) = (UInt64.max - 20).addingReportingOverflow(UInt64(block))
      let high: UInt64 = overflow ? 8 : 7
      let input =
        withUnsafeBytes(of: high.bigEndian) { Bytes($0) } + withUnsafeBytes(of: low.bigEndian) { Bytes($0) }
      #expect(
        Bytes(keystream[(16 * block)..<(16 * block + 16)]) == AESTests.encrypted(input, cipher), "\(block)")
    }
  }

  @Test(arguments: [0, 1, 15, 16, 17, 31, 32, 33, 255, 256, 257, 511, 512, 513, 527, 528, 529, 1024, 1100])
  func `any part of a text can be encrypted alone, and in place`(count: Int) {
    let cipher = AES256(key: AESTests.key.secret)
    let counter = AES256.Counter(high: 1, low: 2)
    let text = Bytes.pattern(count)
    let whole = AESTests.applied(text, cipher, counter)
    #expect(AESTests.applied(whole, cipher, counter) == text)
    for place in Set([0, 1, 15, 16, 17, count / 2, count - 1, count]) where 0...count ~= place {
      let parts = text.cut(at: place)
      let first = AESTests.applied(Bytes(parts[0]), cipher, counter)
      let second = AESTests.applied(Bytes(parts[1]), cipher, counter, at: UInt64(place))
      #expect(first + second == whole, "\(count) bytes cut at \(place)")
    }
    var inPlace = text
    inPlace.withUnsafeMutableBytes { cipher.apply(UnsafeRawBufferPointer($0), into: $0, counter: counter) }
    #expect(inPlace == whole)
  }
}
