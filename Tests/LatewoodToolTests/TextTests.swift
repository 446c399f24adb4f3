import Testing

@testable import LatewoodTool

@Suite struct TextTests {
  @Test func `hexadecimal text is decoded to the same bytes`() {
    #expect(Hex.encode([0, 0x7F, 0xFF]) == "007fff")
    #expect(Hex.decode("007FfF".utf8) == [0, 0x7F, 0xFF])
    for text in ["0", "0g", "xx", "00 1"] { #expect(Hex.decode(text.utf8) == nil) }
  }

  @Test(arguments: [
    ("plain", "plain"), ("Łódź 名前", "Łódź 名前"), ("with space", "with space"), ("a\nb", "0x610a62"),
    ("0x", "0x3078"), ("\u{200B}", "0xe2808b"), ("\u{1B}[31m", "0x1b5b33316d"),
  ]) func `keys are shown in a form that can be typed again`(key: String, shown: String) throws {
    #expect(KeyText.shown(Array(key.utf8)) == shown)
    #expect(try KeyText.bytes(Array(shown.utf8)) == Array(key.utf8))
  }

  @Test func `keys that are not text are shown in hexadecimal`() throws {
    #expect(KeyText.shown([0xFF, 0x00]) == "0xff00")
    #expect(try KeyText.bytes(Array("0xFF00".utf8)) == [0xFF, 0x00])
    #expect(throws: Failure.self) { try KeyText.bytes(Array("0xyz".utf8)) }
    #expect(throws: Failure.self) { try KeyText.bytes(Array("0x123".utf8)) }
  }

  @Test func `text is fitted to columns`() {
    #expect(DisplayWidth.of("abc") == 3)
    #expect(DisplayWidth.of("名前") == 4)
    #expect(DisplayWidth.of("e\u{301}") == 1)
    #expect(DisplayWidth.fitted("abcdef", to: 6) == "abcdef")
    #expect(DisplayWidth.fitted("abcdefg", to: 6) == "abcde…")
    #expect(DisplayWidth.fitted("名前名前", to: 6) == "名前…")
  }

  @Test func `values are cut only between characters`() {
    let text = Array(String(repeating: "名", count: 100).utf8)
    for width in 2...20 {
      let shown = text.withUnsafeBytes { ValueText.shown($0.bytes, in: width) }
      #expect(DisplayWidth.of(shown) <= width)
      #expect(shown.hasSuffix("…") && !shown.hasPrefix("0x"))
    }
    let bytes: [UInt8] = [0xFF, 0x01]
    #expect(bytes.withUnsafeBytes { ValueText.shown($0.bytes, in: 20) } == "0xff01")
    #expect([UInt8]().withUnsafeBytes { ValueText.shown($0.bytes, in: 20) } == "")
  }

  @Test func `quantities are formatted for reading`() {
    #expect(Quantity.count(0) == "0")
    #expect(Quantity.count(-1_234_567) == "-1,234,567")
    #expect(Quantity.count(1, "entry", "entries") == "1 entry")
    #expect(Quantity.bytes(1) == "1 byte")
    #expect(Quantity.bytes(1023) == "1,023 bytes")
    #expect(Quantity.bytes(1536) == "1.5 KiB")
    #expect(Quantity.bytes(1 << 20) == "1 MiB")
    #expect(Quantity.bytes((1 << 20) - 1) == "1 MiB")
    #expect(Quantity.bytes(UInt64.max) == "16,777,216 TiB")
    #expect(Quantity.duration(nanoseconds: 999) == "999 ns")
    #expect(Quantity.duration(nanoseconds: 12_540) == "12.5 µs")
    #expect(Quantity.duration(nanoseconds: 2_000_000_000) == "2 s")
    #expect(Quantity.share(999, of: 1000) == "99%")
    #expect(Quantity.share(0, of: 0) == "0%")
  }

  @Test func `times are formatted by the calendar`() {
    #expect(Timestamp.exact(microseconds: 0) == "1970-01-01T00:00:00.000000Z")
    #expect(Timestamp.exact(microseconds: 951_782_400_000_001) == "2000-02-29T00:00:00.000001Z")
    #expect(Timestamp.shown(microseconds: 1_700_000_000_123_456) == "2023-11-14 22:13:20")
    #expect(Timestamp.shown(microseconds: 4_107_542_399_000_000) == "2100-02-28 23:59:59")
    #expect(!Timestamp.exact(microseconds: UInt64.max).isEmpty)
    #expect(Timestamp.exact(seconds: 951_782_400) == "2000-02-29T00:00:00Z")
  }

  @Test(
    arguments: [
      ("2000-02-29T00:00:00Z", 951_782_400), ("2000-02-29", 951_782_400),
      ("2000-02-29 02:00+02:00", 951_782_400),
      ("0", 0), ("1700000000", 1_700_000_000), ("+90s", 1090), ("+15m", 1900), ("+2h", 8200), ("+1d", 87_400),
    ] as [(String, UInt64)]) func `times are parsed in all their forms`(text: String, seconds: UInt64) throws
  {
    #expect(try Timestamp.seconds(text, now: 1000) == seconds)
  }

  @Test(arguments: [
    "", "+", "+s", "+5", "+5w", "-5", "+-5s", "soon", "2001-02-29", "1969-12-31", "1099511627776",
    "+99999999999999999999d", "2000-02-29T25:00:00Z", "１",
  ]) func `text that is not a time is refused`(text: String) {
    let failure = #expect(throws: Failure.self) { try Timestamp.seconds(text, now: 1000) }
    #expect(failure?.exitCode == .usage && failure?.advice.isEmpty == false)
  }
}
