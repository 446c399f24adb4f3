import LatewoodCrypto
import Testing

@Suite("ChaCha20")
struct ChaCha20Tests {
  static func applied(_ text: Bytes, key: Bytes, nonce: Bytes, counter: UInt32) -> Bytes {
    let nonce = nonce.withUnsafeBytes { ChaCha20.Nonce($0) }
    return written(text) { ChaCha20(key: key.secret).apply($0, into: $1, nonce: nonce, counter: counter) }
  }

  static func applied(_ text: Bytes, key: Bytes, nonce: UInt64, at offset: UInt64 = 0) -> Bytes {
    written(text) { ChaCha20(key: key.secret).apply($0, into: $1, nonce: nonce, at: offset) }
  }

  static let sunscreen = Bytes(
    "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it."
  )

  /// Key, nonce, counter, keystream: RFC 8439, sections 2.3.2 and A.1.
  static let blocks: [(key: Bytes, nonce: String, counter: UInt32, keystream: String)] = [
    (
      Bytes(0..<32), "000000090000004a00000000", 1,
      """
      10f1e7e4d13b5915500fdd1fa32071c4 c7d1f4c733c068030422aa9ac3d46c4e
      d2826446079faa0914c2d705d98b02a2 b5129cd1de164eb9cbd083e8a2503c4e
      """
    ),
    (
      Bytes(repeating: 0, count: 32), "000000000000000000000000", 0,
      """
      76b8e0ada0f13d90405d6ae55386bd28 bdd219b8a08ded1aa836efcc8b770dc7
      da41597c5157488d7724e03fb8d84a37 6a43b8f41518a11cc387b669b2ee6586
      """
    ),
    (
      Bytes(repeating: 0, count: 32), "000000000000000000000000", 1,
      """
      9f07e7be5551387a98ba977c732d080d cb0f29a048e3656912c6533e32ee7aed
      29b721769ce64e43d57133b074d839d5 31ed1f28510afb45ace10a1f4b794d6f
      """
    ),
    (
      Bytes(repeating: 0, count: 31) + [1], "000000000000000000000000", 1,
      """
      3aeb5224ecf849929b9d828db1ced4dd 832025e8018b8160b82284f3c949aa5a
      8eca00bbb4a73bdad192b5c42f73f2fd 4e273644c8b36125a64addeb006c13a0
      """
    ),
    (
      [0, 0xFF] + Bytes(repeating: 0, count: 30), "000000000000000000000000", 2,
      """
      72d54dfbf12ec44b362692df94137f32 8fea8da73990265ec1bbbea1ae9af0ca
      13b25aa26cb4a648cb9b9d1be65b2c09 24a66c54d545ec1b7374f4872e99f096
      """
    ),
    (
      Bytes(repeating: 0, count: 32), "000000000000000000000002", 0,
      """
      c2c64d378cd536374ae204b9ef933fcd 1a8b2288b3dfa49672ab765b54ee27c7
      8a970e0e955c14f3a88e741b97c286f7 5f8fc299e8148362fa198a39531bed6d
      """
    ),
  ]

  @Test(arguments: blocks.indices) func `the blocks of RFC 8439 hold`(_ number: Int) {
    let vector = ChaCha20Tests.blocks[number]
    let keystream = ChaCha20Tests.applied(
      Bytes(repeating: 0, count: 64), key: vector.key, nonce: Bytes(hex: vector.nonce),
      counter: vector.counter)
    #expect(keystream == Bytes(hex: vector.keystream))
  }

  @Test func `the text of RFC 8439, section 2-4-2, has the ciphertext of the RFC`() {
    let expected = Bytes(
      hex: """
        6e2e359a2568f98041ba0728dd0d6981 e97e7aec1d4360c20a27afccfd9fae0b
        f91b65c5524733ab8f593dabcd62b357 1639d624e65152ab8f530c359f0861d8
        07ca0dbf500d6a6156a38e088a22b65e 52bc514d16ccf806818ce91ab7793736
        5af90bbf74a35be6b40b8eedf2785e42 874d
        """)
    let text = ChaCha20Tests.applied(
      ChaCha20Tests.sunscreen, key: Bytes(0..<32), nonce: Bytes(hex: "000000000000004a00000000"), counter: 1)
    #expect(text == expected)
  }

  @Test func `HChaCha20 derives the key of the XChaCha draft, section 2-2-1`() {
    let key = Bytes(hex: "000000090000004a0000000031415927").withUnsafeBytes {
      ChaCha20.derivedKey(Bytes(0..<32).secret, $0)
    }
    #expect(Bytes(key).hex == "82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc")
  }

  @Test func `both forms of nonce have the same keystream for the same state`() {
    // The first word of the long nonce is the high half of the counter of the original.
    let text = Bytes.pattern(700)
    let long = ChaCha20Tests.applied(
      text, key: Bytes(0..<32), nonce: Bytes(hex: "020000000403020108070605"), counter: 3)
    let original = ChaCha20Tests.applied(
      text, key: Bytes(0..<32), nonce: 0x0506_0708_0102_0304, at: (2 << 32 | 3) * 64)
    #expect(long == original)
  }

  @Test func `the counter carries into its high half`() {
    let last = UInt64(UInt32.max) * 64
    let text = Bytes(repeating: 0, count: 256)
    let whole = ChaCha20Tests.applied(text, key: Bytes(0..<32), nonce: 1, at: last)
    let rest = ChaCha20Tests.applied(Bytes(text[64...]), key: Bytes(0..<32), nonce: 1, at: last + 64)
    #expect(Bytes(whole[64...]) == rest)
    #expect(rest != ChaCha20Tests.applied(Bytes(text[64...]), key: Bytes(0..<32), nonce: 1, at: 0))
  }

  @Test(arguments: [0, 1, 63, 64, 65, 127, 128, 129, 191, 192, 255, 256, 257, 319, 320, 321, 512, 600])
  func `any part of a text can be encrypted alone, and in place`(count: Int) {
    let key = Bytes.pattern(32)
    let text = Bytes.pattern(count)
    let whole = ChaCha20Tests.applied(text, key: key, nonce: 5)
    #expect(ChaCha20Tests.applied(whole, key: key, nonce: 5) == text)
    for place in Set([0, 1, 63, 64, 65, count / 2, count - 1, count]) where 0...count ~= place {
      let parts = text.cut(at: place)
      let first = ChaCha20Tests.applied(Bytes(parts[0]), key: key, nonce: 5)
      let second = ChaCha20Tests.applied(Bytes(parts[1]), key: key, nonce: 5, at: UInt64(place))
      #expect(first + second == whole, "\(count) bytes cut at \(place)")
    }
    var inPlace = text
    inPlace.withUnsafeMutableBytes {
      ChaCha20(key: key.secret).apply(UnsafeRawBufferPointer($0), into: $0, nonce: 5)
    }
    #expect(inPlace == whole)
  }
}
