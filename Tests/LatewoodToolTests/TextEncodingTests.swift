import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodTool

/// Texts in UTF-16, with and without a byte order mark, whole and broken.
@Suite struct TextEncodingTests {
  private static let text = "name,n\nJosé,1\n👩‍👧 名前,2\n"
  private static let documents = [#"{"n":1,"name":"José"}"#, #"{"n":2,"name":"👩‍👧 名前"}"#]

  private static func utf16(_ text: String, bigEndian: Bool, hasMark: Bool) -> [UInt8] {
    ((hasMark ? [0xFEFF] : []) + Array(text.utf16)).flatMap { unit in
      let bytes = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
      return bigEndian ? bytes : bytes.reversed()
    }
  }

  private func imported(_ bytes: [UInt8], _ options: [String] = [], name: String = "source.csv") throws -> (
    tool: ToolRun, result: ToolRun.Result
  ) {
    let tool = try ToolRun()
    try CapturedRun.write(bytes, to: "\(tool.directory)/\(name)")
    return (tool, try tool.run(["import", "@", "\(tool.directory)/\(name)", "--documents"] + options))
  }

  @Test(arguments: [
    (false, true, []), (true, true, []), (false, true, ["--encoding", "utf-16"]),
    (true, true, ["--encoding", "utf-16"]), (true, true, ["--encoding", "utf-16be"]),
    (false, false, ["--encoding", "utf-16"]), (true, false, ["--encoding", "utf-16"]),
    (false, false, ["--encoding", "utf-16le"]), (true, false, ["--encoding", "utf-16be"]),
  ])
  func `a text in UTF-16 is read in both orders`(bigEndian: Bool, hasMark: Bool, options: [String]) throws {
    let bytes = Self.utf16(Self.text, bigEndian: bigEndian, hasMark: hasMark)
    let (tool, result) = try imported(bytes, options)
    #expect(result.code == .success, "\(result.error)")
    #expect(try tool("export", "@", "--documents").lines == Self.documents)
    // JSON as well.
    let json = Self.utf16(#"[{"name":"名前"}]"#, bigEndian: bigEndian, hasMark: hasMark)
    let (other, second) = try imported(json, options, name: "source.json")
    #expect(second.code == .success, "\(second.error)")
    #expect(try other("export", "@", "--documents").output.contains(#"{"name":"名前"}"#))
  }

  @Test func `a text of UTF-8 may begin with its mark, and empty texts have every encoding`() throws {
    for mark in [[], [0xEF, 0xBB, 0xBF]] as [[UInt8]] {
      for options in [[], ["--encoding", "utf-8"]] {
        let (tool, result) = try imported(mark + Array(Self.text.utf8), options)
        #expect(result.code == .success, "\(result.error)")
        #expect(try tool("export", "@", "--documents").lines == Self.documents)
      }
    }
    for encoding in TextEncoding.allCases {
      let (_, result) = try imported([], ["--encoding", encoding.rawValue])
      #expect(result.error.contains("the header is missing"), "\(result.error)")
    }
  }

  @Test(
    arguments: [
      ([0xFF, 0xFE, 0x61], [], "line 1, column 1", "its length in bytes is odd"),
      (
        [0xFF, 0xFE, 0x61, 0, 0x0A, 0, 0x00, 0xD8, 0x62, 0], [], "line 2, column 1",
        "half of a surrogate pair"
      ),
      (
        [0xFF, 0xFE, 0x61, 0, 0x0A, 0, 0x62, 0, 0x00, 0xDC], [], "line 2, column 2",
        "half of a surrogate pair"
      ),
      ([0xFF, 0xFE, 0x61, 0, 0x0A, 0, 0x00, 0xD8], [], "line 2, column 1", "half of a surrogate pair"),
      ([0xFF, 0xFE, 0x61, 0, 0x00, 0xD8, 0x00, 0xD8], [], "line 1, column 2", "half of a surrogate pair"),
      ([0xFF, 0xFE, 0, 0, 0x61, 0, 0, 0], [], "line 1, column 1", "UTF-32"),
      ([0, 0, 0xFE, 0xFF, 0, 0, 0, 0x61], [], "line 1, column 1", "UTF-32"),
      ([0xFF, 0xFE, 0x61, 0], ["--encoding", "utf-16be"], "line 1, column 1", "Leave --encoding out"),
      ([0xFF, 0xFE, 0x61, 0], ["--encoding", "utf-8"], "line 1, column 1", "Leave --encoding out"),
      ([0xEF, 0xBB, 0xBF, 0x61], ["--encoding", "utf-16"], "line 1, column 1", "Leave --encoding out"),
      ([0x0D, 0x54, 0x4D, 0x52], ["--encoding", "utf-16"], "line 1, column 1", "utf-16le"),
    ] as [([UInt8], [String], String, String)])
  func `a broken text is refused with its line and with advice`(
    bytes: [UInt8], options: [String], place: String, reason: String
  ) throws {
    let (tool, result) = try imported(bytes, options)
    #expect(result.code == .badInput && result.output.isEmpty, "\(result.output)")
    #expect(result.error.contains("source.csv, \(place)") && result.error.contains(reason), "\(result.error)")
    #expect(result.error.split(separator: "\n").count == 2)
    #expect(try !FileVolume().exists(tool.path))
  }

  @Test func `pieces of any length give the same text, and no bytes trap the decoder`() throws {
    for bigEndian in [false, true] {
      let bytes = Self.utf16(Self.text, bigEndian: bigEndian, hasMark: false)
      for length in 1...7 {
        var decoder = UTF16Decoder(isBigEndian: bigEndian)
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: length) {
          try decoder.decode(bytes[start..<min(start + length, bytes.count)], into: &text)
        }
        try decoder.end()
        #expect(text == Array(Self.text.utf8))
      }
    }
    let seed = SeededRandom(seed: SeededRandom.seed())
    var random = seed
    for _ in 0..<2_000 {
      let bytes = random.bytes(random.below(12))
      var decoder = UTF16Decoder(isBigEndian: random.oneIn(2))
      var text: [UInt8] = []
      do throws(Failure) {
        try decoder.decode(bytes, into: &text)
        try decoder.end()
      } catch {
        #expect(error.line != nil && error.column != nil, "\(seed.replay)")
      }
      #expect(String(validating: text, as: UTF8.self) != nil, "\(seed.replay)")
    }
  }
}
