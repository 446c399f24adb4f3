import LatewoodBytes
import Testing

@Suite("XXH64")
struct XXH64Tests {
  /// The input of the reference implementation's self-test: the top bytes of a growing product.
  static let sanityInput: [UInt8] = {
    var value: UInt64 = 2_654_435_761
    return (0..<222).map { _ in
      defer { value = value &* 11_400_714_785_074_694_797 }
      return UInt8(truncatingIfNeeded: value &>> 56)
    }
  }()

  func hash(_ bytes: some Collection<UInt8>, seed: UInt64) -> UInt64 {
    Array(bytes).withUnsafeBytes { XXH64.hash($0, seed: seed) }
  }

  @Test func `short texts have their published hashes`() {
    #expect(hash([], seed: 0) == 0xEF46_DB37_51D8_E999)
    #expect(hash(Array("abc".utf8), seed: 0) == 0x44BC_2CF5_AD77_0999)
    #expect(hash(Array("a".utf8), seed: 0) == 0xD24E_C4F1_A98C_6E5B)
  }

  static let prime: UInt64 = 2_654_435_761

  /// Length, seed, hash: from the self-test of xxHash 0.8.
  static let vectors: [(Int, UInt64, UInt64)] = [
    (0, 0, 0xEF46_DB37_51D8_E999), (0, prime, 0xAC75_FDA2_929B_17EF),
    (1, 0, 0xE934_A84A_DB05_2768), (1, prime, 0x5014_6076_43A9_B4C3),
    (4, 0, 0x9136_A0DC_A574_57EE), (8, 0, 0xCDBC_F538_E71D_1348),
    (14, 0, 0x8282_DCC4_994E_35C8), (14, prime, 0xC3BD_6BF6_3DEB_6DF0),
    (32, 0, 0x18B2_1649_2BB4_4B70), (32, prime, 0xB3F3_3BDF_93AD_E409),
    (33, 0, 0x55C8_DC3E_578F_5B59), (33, prime, 0xE92C_292F_64BC_3071),
    (100, 0, 0x4BFE_019C_D91D_9EA4), (100, prime, 0x4853_706D_C962_5CAE),
    (222, 0, 0xB641_AE8C_B691_C174), (222, prime, 0x20CB_8AB7_AE10_C14A),
  ]

  @Test(arguments: vectors) func `the reference implementation's test vectors hold`(
    _ count: Int, _ seed: UInt64, _ expected: UInt64
  ) {
    #expect(hash(XXH64Tests.sanityInput.prefix(count), seed: seed) == expected)
  }

  @Test func `a stream gives the same hash however its input is split`() {
    for count in [0, 1, 31, 32, 33, 63, 64, 65, 100] {
      let bytes = Array(XXH64Tests.sanityInput.prefix(count))
      for first in 0...count {
        for second in Set([first, (first + count) / 2, count]) {
          var stream = XXH64.Stream(seed: 7)
          for piece in [bytes[..<first], bytes[first..<second], bytes[second...]] {
            piece.withUnsafeBytes { stream.update($0) }
          }
          #expect(stream.finish() == hash(bytes, seed: 7), "\(count) bytes cut at \(first) and \(second)")
        }
      }
    }
  }

  @Test func `hashing with two seeds in one pass equals two separate passes`() {
    for count in 0...100 {
      let bytes = Array(XXH64Tests.sanityInput.prefix(count)) + [0]
      let (first, second) = bytes.withUnsafeBytes { bytes in
        bytes.baseAddress.map { XXH64.hashes($0, count, seeds: (0, 7)) } ?? (0, 0)
      }
      #expect(first == hash(bytes.dropLast(), seed: 0), "\(count) bytes")
      #expect(second == hash(bytes.dropLast(), seed: 7), "\(count) bytes")
    }
  }

  @Test func `feeding one byte at a time gives the same hash`() {
    var stream = XXH64.Stream(seed: 0)
    for (count, byte) in XXH64Tests.sanityInput.enumerated() {
      #expect(stream.finish() == hash(XXH64Tests.sanityInput.prefix(count), seed: 0))
      withUnsafeBytes(of: byte) { stream.update($0) }
    }
  }
}
