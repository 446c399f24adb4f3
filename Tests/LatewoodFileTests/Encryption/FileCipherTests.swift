import LatewoodBytes
import LatewoodCrypto
import LatewoodSimulation
import Testing

@testable import LatewoodFile

@Suite struct FileCipherTests {
  private static let fileID: (first: UInt64, last: UInt64) = (0x0807_0605_0403_0201, 0x100F_0E0D_0C0B_0A09)

  private func key(_ byte: UInt8) -> SecretBytes {
    SecretBytes(count: 32) { bytes in for at in 0..<32 { bytes[at] = byte &+ UInt8(at) } }
  }

  private func cipher(_ suite: CipherSuite, key byte: UInt8 = 0x40, seed: UInt64 = 7) -> FileCipher {
    var random = SeededRandom(seed: seed)
    return FileCipher(suite, fileKey: key(byte), fileID: Self.fileID) { random.next() }
  }

  /// A unit with `clear` bytes in the clear and a text of `count` bytes.
  private func sealed(
    _ cipher: FileCipher, clear: Int, text count: Int, kind: UnitCodec.Kind = .node, at offset: UInt64 = 4096
  ) -> (plain: [UInt8], stored: [UInt8], layout: FileCipher.Layout) {
    let layout = FileCipher.Layout(length: clear + count + FileCipher.trailerLength, clear: clear)
    let plain = (0..<layout.length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    var stored = plain
    stored.withUnsafeMutableBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      cipher.seal(kind, at: offset, UnsafeRawPointer(base), into: base, layout)
    }
    return (plain, stored, layout)
  }

  private func opened(
    _ stored: [UInt8], by cipher: FileCipher, _ layout: FileCipher.Layout, kind: UnitCodec.Kind = .node,
    at offset: UInt64 = 4096
  ) -> [UInt8]? {
    stored.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress, let text = cipher.open(kind, at: offset, base, layout) else {
        return nil
      }
      var target = stored
      target.withUnsafeMutableBytes { target in
        if let target = target.baseAddress { text.decrypt(text.range, into: target) }
      }
      return Array(target[..<layout.trailer])
    }
  }

  @Test(arguments: CipherSuite.allCases)
  func `a unit of any length opens to the sealed bytes, which are not in the clear`(_ suite: CipherSuite) {
    let (writer, reader) = (cipher(suite), cipher(suite, seed: 8))
    for count in [0, 1, 15, 16, 17, 31, 32, 447, 448, 479, 480, 481, 512, 1000, 8192, 65_000] {
      let (plain, stored, layout) = sealed(writer, clear: 40, text: count)
      #expect(stored[..<40] == plain[..<40])
      #expect(count < 16 || stored[40..<40 + count] != plain[40..<40 + count])
      #expect(opened(stored, by: reader, layout) == Array(plain[..<layout.trailer]))
      #expect(opened(stored, by: writer, layout) == Array(plain[..<layout.trailer]))
    }
  }

  @Test func `suite 2 is XChaCha20-Poly1305`() {
    let cipher = cipher(.chaCha20)
    let (plain, stored, layout) = sealed(cipher, clear: 40, text: 100, kind: .node, at: 0x1_0000)
    var associated: [UInt8] = []
    for word in [Self.fileID.first, Self.fileID.last, 3, 0x1_0000] {
      withUnsafeBytes(of: word.littleEndian) { associated += $0 }
    }
    associated += plain[8..<40]
    var expected = [UInt8](repeating: 0, count: 100)
    let nonce = Array(stored[140..<164])
    let tag = plain[40..<140].withUnsafeBytes { text in
      expected.withUnsafeMutableBytes { target in
        nonce.withUnsafeBytes { nonce in
          associated.withUnsafeBytes { associated in
            ChaCha20Poly1305.seal(
              text, into: target, key: key(0x40), nonce: nonce, associatedData: associated)
          }
        }
      }
    }
    #expect(Array(stored[40..<140]) == expected)
    #expect(stored[164...].withUnsafeBytes { $0.baseAddress.map { AuthenticationTag(at: $0) } } == tag)
    #expect(layout.trailer == 140)
  }

  @Test(arguments: CipherSuite.allCases)
  func `a unit with any bit flipped is refused`(_ suite: CipherSuite) {
    let cipher = cipher(suite)
    let (_, stored, layout) = sealed(cipher, clear: 40, text: 33)
    // The first 8 bytes are the checksum, which the tag does not cover.
    for bit in 64..<stored.count * 8 {
      var changed = stored
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(opened(changed, by: cipher, layout) == nil)
    }
  }

  @Test(arguments: CipherSuite.allCases)
  func `a unit is refused at another place, as another kind, in another file and with another key`(
    _ suite: CipherSuite
  ) {
    let writer = cipher(suite)
    let (_, stored, layout) = sealed(writer, clear: 64, text: 100)
    #expect(opened(stored, by: writer, layout) != nil)
    #expect(opened(stored, by: writer, layout, at: 8192) == nil)
    #expect(opened(stored, by: writer, layout, kind: .frame) == nil)
    #expect(opened(stored, by: cipher(suite, key: 0x41), layout) == nil)
    let other = FileCipher(suite, fileKey: key(0x40), fileID: (1, 2)) { 3 }
    #expect(opened(stored, by: other, layout) == nil)
    // Bytes that move from the clear part to the text would otherwise be authenticated alike.
    #expect(opened(stored, by: writer, FileCipher.Layout(length: layout.length, clear: 48)) == nil)
  }

  @Test(arguments: CipherSuite.allCases)
  func `extents in a frame keep the bytes that they were encrypted to`(_ suite: CipherSuite) {
    let cipher = cipher(suite)
    var layout = FileCipher.Layout(length: 1000, clear: 56)
    let plain = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
    var stored = plain
    let whole = sealed(cipher, clear: 56, text: 904).layout
    layout.extents = [100..<300, 300..<400, 900..<960]
    stored.withUnsafeMutableBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      cipher.seal(.frame, at: 0, UnsafeRawPointer(base), into: base, layout)
    }
    for extent in layout.extents { #expect(stored[extent] == plain[extent]) }
    // Without the list of extents the tag is the same: it covers their bytes.
    let text = opened(stored, by: cipher, whole, kind: .frame, at: 0)
    #expect(text?[56..<100] == plain[56..<100])
    #expect(text?[400..<900] == plain[400..<900])
  }

  @Test(arguments: CipherSuite.allCases)
  func `no two units have the same nonce, in one session or in several`(_ suite: CipherSuite) {
    var nonces: Set<[UInt8]> = []
    for seed in 0..<20 {
      let cipher = cipher(suite, seed: UInt64(seed))
      for _ in 0..<50 {
        let (_, stored, layout) = sealed(cipher, clear: 0, text: 1)
        #expect(nonces.insert(Array(stored[layout.trailer..<layout.trailer + 24])).inserted)
      }
    }
  }
}
