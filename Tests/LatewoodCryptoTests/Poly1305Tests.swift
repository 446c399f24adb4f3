import LatewoodCrypto
import Testing

@Suite("Poly1305")
struct Poly1305Tests {
  static let zero = String(repeating: "00", count: 16)
  static let ones = String(repeating: "ff", count: 16)

  /// Key, message, tag: RFC 8439, sections 2.5.2 and A.3 (numbers 1 and 7 to 11), which reach each
  /// carry and the reduction modulo the prime.
  static let vectors: [(key: String, message: String, tag: String)] = [
    (
      "85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b",
      "43727970746f6772617068696320466f72756d2052657365617263682047726f7570",
      "a8061dc1305136c6c22b8baf0c0127a9"
    ),
    (zero + zero, zero + zero + zero + zero, zero),
    ("02000000000000000000000000000000" + zero, ones, "03000000000000000000000000000000"),
    (
      "02000000000000000000000000000000" + ones, "02000000000000000000000000000000",
      "03000000000000000000000000000000"
    ),
    (
      "01000000000000000000000000000000" + zero,
      ones + "f0ffffffffffffffffffffffffffffff" + "11000000000000000000000000000000",
      "05000000000000000000000000000000"
    ),
    (
      "01000000000000000000000000000000" + zero,
      ones + "fbfefefefefefefefefefefefefefefe" + "01010101010101010101010101010101", zero
    ),
    (
      "02000000000000000000000000000000" + zero, "fdffffffffffffffffffffffffffffff",
      "faffffffffffffffffffffffffffffff"
    ),
    (
      "01000000000000000400000000000000" + zero,
      "e33594d7505e43b900000000000000003394d7505e4379cd01000000000000000000000000000000000000000000000001000000000000000000000000000000",
      "14000000000000005500000000000000"
    ),
    (
      "01000000000000000400000000000000" + zero,
      "e33594d7505e43b900000000000000003394d7505e4379cd010000000000000000000000000000000000000000000000",
      "13000000000000000000000000000000"
    ),
  ]

  @Test(arguments: vectors.indices) func `the tags of RFC 8439 hold`(_ number: Int) {
    let vector = Poly1305Tests.vectors[number]
    #expect(Poly1305.tag(of: Bytes(hex: vector.message), key: Bytes(hex: vector.key)).hex == vector.tag)
  }

  @Test func `a message in pieces has the tag of the whole`() {
    let key = Bytes.pattern(32)
    for count in [0, 1, 15, 16, 17, 31, 32, 33, 50] {
      let message = Bytes.pattern(count)
      let whole = Poly1305.tag(of: message, key: key)
      for first in 0...count {
        for second in Set([first, (first + count) / 2, count]) {
          var mac = key.withUnsafeBytes { Poly1305(key: $0) }
          for piece in [message[..<first], message[first..<second], message[second...]] {
            piece.withUnsafeBytes { mac.update($0) }
          }
          #expect(Bytes(mac.finish()) == whole, "\(count) bytes cut at \(first) and \(second)")
        }
      }
    }
  }

  @Test func `padding appends zeros up to the next block, and no block`() {
    let key = Bytes.pattern(32)
    for count in 0...33 {
      var mac = key.withUnsafeBytes { Poly1305(key: $0) }
      Bytes.pattern(count).withUnsafeBytes { mac.update($0) }
      mac.pad()
      let padded = Bytes.pattern(count) + Bytes(repeating: 0, count: (16 - count % 16) % 16)
      #expect(Bytes(mac.finish()) == Poly1305.tag(of: padded, key: key), "\(count) bytes")
    }
  }
}

@Suite("ChaCha20-Poly1305")
struct ChaCha20Poly1305Tests {
  static func seal(_ text: Bytes, key: Bytes, nonce: Bytes, data: Bytes) -> (text: Bytes, tag: Bytes) {
    var tag: AuthenticationTag?
    let sealed = written(text) { source, target in
      nonce.withUnsafeBytes { nonce in
        data.withUnsafeBytes {
          tag = ChaCha20Poly1305.seal(source, into: target, key: key.secret, nonce: nonce, associatedData: $0)
        }
      }
    }
    return (sealed, tag.map { Bytes($0) } ?? [])
  }

  /// Returns nil if the tag is wrong and nothing has been written.
  static func open(_ text: Bytes, tag: Bytes, key: Bytes, nonce: Bytes, data: Bytes) -> Bytes? {
    guard
      let tag = tag.withUnsafeBytes({
        $0.count == 16 ? $0.baseAddress.map { AuthenticationTag(at: $0) } : nil
      })
    else { return nil }
    var isRight = false
    let opened = written(text) { source, target in
      nonce.withUnsafeBytes { nonce in
        data.withUnsafeBytes { data in
          isRight = ChaCha20Poly1305.open(
            source, into: target, tag: tag, key: key.secret, nonce: nonce, associatedData: data)
        }
      }
    }
    #expect(isRight || opened.allSatisfy { $0 == 0 })
    return isRight ? opened : nil
  }

  static let key = Bytes(0x80...0x9F)
  static let data = Bytes(hex: "50515253c0c1c2c3c4c5c6c7")

  @Test func `the example of RFC 8439, section 2-8-2, holds`() {
    let nonce = Bytes(hex: "070000004041424344454647")
    let sealed = ChaCha20Poly1305Tests.seal(
      ChaCha20Tests.sunscreen, key: ChaCha20Poly1305Tests.key, nonce: nonce, data: ChaCha20Poly1305Tests.data)
    #expect(
      sealed.text
        == Bytes(
          hex: """
            d31a8d34648e60db7b86afbc53ef7ec2 a4aded51296e08fea9e2b5a736ee62d6
            3dbea45e8ca9671282fafb69da92728b 1a71de0a9e060b2905d6a5b67ecd3b36
            92ddbd7f2d778b8c9803aee328091b58 fab324e4fad675945585808b4831d7bc
            3ff4def08e4b7a9de576d26586cec64b 6116
            """))
    #expect(sealed.tag.hex == "1ae10b594f09e26a7e902ecbd0600691")
  }

  @Test func `the example of the XChaCha draft, section A-3-1, holds`() {
    let sealed = ChaCha20Poly1305Tests.seal(
      ChaCha20Tests.sunscreen, key: ChaCha20Poly1305Tests.key, nonce: Bytes(0x40...0x57),
      data: ChaCha20Poly1305Tests.data)
    #expect(
      sealed.text
        == Bytes(
          hex: """
            bd6d179d3e83d43b9576579493c0e939 572a1700252bfaccbed2902c21396cbb
            731c7f1b0b4aa6440bf3a82f4eda7e39 ae64c6708c54c216cb96b72e1213b452
            2f8c9ba40db5d945b11b69b982c1bb9e 3f3fac2bc369488f76b2383565d3fff9
            21f9664c97637da9768812f615c68b13 b52e
            """))
    #expect(sealed.tag.hex == "c0875924c1c7987947deafd8780acf49")
  }

  @Test(arguments: [12, 24]) func `a changed bit of anything is refused`(nonceSize: Int) {
    let text = Bytes.pattern(70)
    let key = Bytes.pattern(32)
    let nonce = Bytes.pattern(nonceSize)
    let data = Bytes.pattern(5)
    let sealed = ChaCha20Poly1305Tests.seal(text, key: key, nonce: nonce, data: data)
    func flipped(_ bytes: Bytes, _ bit: Int) -> Bytes {
      var bytes = bytes
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      return bytes
    }
    typealias Tests = ChaCha20Poly1305Tests
    #expect(Tests.open(sealed.text, tag: sealed.tag, key: key, nonce: nonce, data: data) == text)
    for bit in 0..<(text.count * 8) {
      #expect(
        Tests.open(flipped(sealed.text, bit), tag: sealed.tag, key: key, nonce: nonce, data: data) == nil)
    }
    for bit in 0..<128 {
      #expect(
        Tests.open(sealed.text, tag: flipped(sealed.tag, bit), key: key, nonce: nonce, data: data) == nil)
    }
    for bit in 0..<256 {
      #expect(
        Tests.open(sealed.text, tag: sealed.tag, key: flipped(key, bit), nonce: nonce, data: data) == nil)
    }
    for bit in 0..<(nonceSize * 8) {
      #expect(
        Tests.open(sealed.text, tag: sealed.tag, key: key, nonce: flipped(nonce, bit), data: data) == nil)
    }
    for bit in 0..<40 {
      #expect(
        Tests.open(sealed.text, tag: sealed.tag, key: key, nonce: nonce, data: flipped(data, bit)) == nil)
    }
    #expect(
      Tests.open(Bytes(sealed.text.dropLast()), tag: sealed.tag, key: key, nonce: nonce, data: data) == nil)
  }
}
