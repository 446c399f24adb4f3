/// Checks that the building blocks match `WORKLOADS.md`.
///
/// If these hold, a wrong checksum is the engine's fault.
struct TestVectors {
  private(set) var checked = 0
  private(set) var failures: [String] = []

  /// Checks all vectors, and prints those that differ. Returns whether all agree.
  static func hold() -> Bool {
    let vectors = check()
    for failure in vectors.failures { Process.printLine("MISMATCH \(failure)") }
    Process.printLine("\(vectors.checked) test vectors, \(vectors.failures.count) differ")
    return vectors.failures.isEmpty
  }

  static func check() -> TestVectors {
    var vectors = TestVectors()
    vectors.checkNumbers()
    vectors.checkPermutations()
    vectors.checkKeysAndValues()
    vectors.checkZipfian()
    return vectors
  }

  private mutating func require<T: Equatable>(_ what: String, _ found: T, _ expected: T) {
    checked += 1
    if found != expected { failures.append("\(what): \(found) instead of \(expected)") }
  }

  private mutating func checkNumbers() {
    var random = SplitMix64(seed: 0)
    require("SplitMix64(0)", [random.next(), random.next()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4])
    random = SplitMix64(seed: 0xBEAD)
    require(
      "SplitMix64(0xBEAD).below(1000000)", (0..<5).map { _ in random.below(1_000_000) },
      [576889, 958793, 200621, 679455, 187528])
    random = SplitMix64(seed: 0xA)
    require(
      "SplitMix64(0xA).unit()", (0..<3).map { _ in random.unit() },
      [0.033311053770689214, 0.73436715300899913, 0.13097277147873954])
    require("mix64(1)", mix64(1), 0x5692_161d_100b_05e5)
    require("fnv64(0)", fnv64(0), 0xa8c7_f832_281a_39c5)
  }

  private mutating func checkPermutations() {
    for (count, seed, expected) in [
      (1_000_000, 0xF111, [469837, 602150, 669159, 397812, 65344, 638481]),
      (200_000, 0xF111, [10362, 39085, 72272, 5095, 176069, 138317]),
      (1_000_000, 0xDE1E, [657616, 404218, 801532, 555347, 781670, 39019]),
    ] as [(UInt64, UInt64, [UInt64])] {
      let permutation = Permutation(count: count, seed: seed)
      require("perm(\(count), \(seed))", (0..<6).map { permutation[$0] }, expected)
    }
  }

  private mutating func checkKeysAndValues() {
    Scratch.use(valueLength: 100) { scratch in
      for (number, version, first, last) in [
        (0, 0, "095b2647591318c2", "66f15bf2"),
        (1, 0, "aa3d139e4ded8c98", "a4ea9cc5"),
        (12345, 1, "902cab48c5c90ea1", "e17e2f7e"),
      ] as [(UInt64, UInt64, String, String)] {
        let value = scratch.value(number, version)
        let what = "value(\(number), \(version))"
        require(what + ": first 8 bytes", Self.hexadecimal(value.prefix(8)), first)
        require(what + ": last 4 bytes", Self.hexadecimal(value.suffix(4)), last)
      }
      let key = String(decoding: scratch.key(12345), as: UTF8.self)
      require("key(12345)", key, "0000000000012345")
      let missing = String(decoding: scratch.missingKey(12345), as: UTF8.self)
      require("missingKey(12345)", missing, "000000000001234f")
      for (record, expected) in [
        (0, "8072747940578789"), (1, "9785061582574730"), (2, "5194620014831856"),
        (999_999, "2602722347131734"),
      ] as [(UInt64, String)] {
        require("ycsbKey(\(record))", String(decoding: scratch.cloudKey(record), as: UTF8.self), expected)
      }
    }
  }

  private mutating func checkZipfian() {
    var random = SplitMix64(seed: 0xA)
    let ranks = (0..<4).map { _ in Zipfian.scrambled.next(&random) }
    require("zipf(1e10)", ranks, [0, 30_220_264, 14, 328_700_387])
    require("fnv64(zipf) % 1000000", ranks.map { fnv64($0) % 1_000_000 }, [174405, 855050, 159243, 53707])
    require("zeta(1000000)", Zipfian.zeta(1_000_000), 15.391849746037371)
  }

  private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
