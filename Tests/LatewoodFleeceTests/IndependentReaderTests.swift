import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodFleece

/// Writes Fleece, and JSON with the same values, for an independent reader:
/// Tests/format/latewood_fleece.py, run by Tests/format-check.sh.
///
/// `LATEWOOD_FLEECE_DIR` is the directory, `LATEWOOD_SEED` the first seed. Without the directory
/// nothing is written, and the bytes are only read here.
@Suite struct IndependentReaderTests {
  private static let edges = [
    "[]", "{}", "null", "\"\"", #"{"foo":123}"#, "[-2049,-2048,-1,0,2047,2048,32767,32768,-32768,-32769]",
    "[8388607,8388608,-8388608,-8388609,2147483647,2147483648,4294967295,4294967296,-4294967297]",
    "[9223372036854775807,-9223372036854775808,9223372036854775808,18446744073709551615]",
    "[1.5,0.1,-0.0,1e+300,5e-324,1e-05,1.8446744073709552e+19,16777217,0.30000000000000004]",
    "\"abcdefghijklmno\"", "[5000,70000]", "[5000,70000,1,\"ab\",\"abc\",1.5]",
    "[" + Array(repeating: "7", count: 2047).joined(separator: ",") + "]",
    "[" + Array(repeating: "\"shared\"", count: 40_000).joined(separator: ",") + "]",
    "{" + (10_000..<15_000).map { "\"\($0)\":[\($0)]" }.joined(separator: ",") + "}",
  ]

  private func write(_ bytes: [UInt8], to path: String) throws {
    let device = try FileVolume().open(path, .createExclusive(permissions: 0o644))
    defer { device.close() }
    try bytes.withUnsafeBytes { try device.write($0, at: 0) }
  }

  @Test func `an independent reader finds the same values`() throws {
    let directory = CurrentProcess.environmentVariable("LATEWOOD_FLEECE_DIR")
    var random = SeededRandom(seed: SeededRandom.seed(directory == nil ? nil : 1))
    let texts = Self.edges + (0..<(directory == nil ? 5 : 200)).map { _ in PlainValue.random(&random).text }
    for (index, text) in texts.enumerated() {
      let fleece = try FleeceText.fleece(text)
      #expect(try FleeceText.json(fleece) == text, "\(random.replay)")
      guard let directory else { continue }
      try write(fleece, to: "\(directory)/\(index).fleece")
      try write(Array(text.utf8), to: "\(directory)/\(index).json")
    }
  }
}
