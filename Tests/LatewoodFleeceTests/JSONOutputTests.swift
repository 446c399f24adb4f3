import Testing

@testable import LatewoodFleece

@Suite struct JSONOutputTests {
  @Test func `indented output has the expected form`() throws {
    let fleece = try FleeceText.fleece(#"{"b":[1,{"x":null}],"a":{},"c":[],"d":[[]]}"#)
    #expect(
      try FleeceText.json(fleece, .indented) == """
        {
          "a": {},
          "b": [
            1,
            {
              "x": null
            }
          ],
          "c": [],
          "d": [
            []
          ]
        }
        """)
    #expect(try FleeceText.json(FleeceText.fleece("7"), .indented) == "7")
  }

  @Test func `whole numbers stored as doubles are written as integers`() throws {
    for (hexadecimal, text) in [
      ("2000 00000000 8003", "0"), ("2000 00000080 8003", "-0.0"), ("2000 0000803f 8003", "1"),
      ("2800 0080e03779c34143 8005", "10000000000000000"),
      ("2800 000000000000e043 8005", "9223372036854775808"),
      ("2800 000000000000f043 8005", "1.8446744073709552e+19"),
    ] {
      let fleece = FleeceText.bytes(hexadecimal)
      #expect(try FleeceText.json(fleece) == text)
      #expect(try FleeceText.canonical(text) == text)
    }
  }

  @Test func `text is written in chunks`() throws {
    let text = "[" + (0..<100_000).map { "\"\($0)\"" }.joined(separator: ",") + "]"
    let fleece = try FleeceText.fleece(text)
    var chunks: [[UInt8]] = []
    try FleeceBody(fleece).withRoot { value throws(FleeceError) in
      try JSON.write(value) { chunk in chunks.append(Array(chunk)) }
    }
    #expect(String(decoding: chunks.joined(), as: UTF8.self) == text)
    #expect(chunks.count > 10 && chunks.allSatisfy { $0.count < 70_000 })
  }

  @Test func `an error from the receiver ends the writing`() throws {
    let fleece = try FleeceText.fleece("[" + (0..<100_000).map { "\($0)" }.joined(separator: ",") + "]")
    var calls = 0
    let error = #expect(throws: FleeceError.self) {
      try FleeceBody(fleece).withRoot { value throws(FleeceError) in
        try JSON.write(value) { _ throws(FleeceError) in
          calls += 1
          throw FleeceError(.output, "full")
        }
      }
    }
    #expect(error?.kind == .output && calls == 1)
  }

  @Test func `only the required characters are escaped`() throws {
    var writer = FleeceWriter()
    let ascii = String(String.UnicodeScalarView((0..<0x80).compactMap { UnicodeScalar($0) }))
    try writer.string(ascii + "é\u{2028}👋")
    let text = try FleeceText.json(writer.finish())
    #expect(
      text == #""\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f"#
        + #"\u0010\u0011\u0012"#
        + #"\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f !"#
        + "\\\"#$%&'()*+,-./0123456789"
        + ":;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\u{7F}é\u{2028}👋\"")
  }

  @Test func `base64 of all lengths round-trips, and malformed base64 is refused`() throws {
    for (bytes, text) in [
      ([], ""), ([0x66], "Zg=="), ([0x66, 0x6F], "Zm8="), ([0x66, 0x6F, 0x6F], "Zm9v"),
      ([0xFB, 0xFF, 0xBF], "+/+/"), (Array("fooba".utf8), "Zm9vYmE="),
    ] as [([UInt8], String)] {
      #expect(Base64.encode(bytes) == text)
      #expect(Base64.decode(text.utf8) == bytes)
    }
    for text in [
      "Z", "Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm 9", "Zm8==", "=m9v", "Zm=v", "Zm9v\n",
    ] {
      #expect(Base64.decode(text.utf8) == nil, "\(text)")
    }
    for length in 0...70 {
      let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ length) }
      #expect(Base64.decode(Base64.encode(bytes).utf8) == bytes)
    }
  }

  private func read(_ lines: inout JSONLinesReader) throws -> [String] {
    var found: [String] = []
    while true {
      do {
        guard let value = try lines.next() else { return found }
        found.append(try FleeceText.json(value))
      } catch let error as FleeceError {
        found.append("\(error.kind) \(error.line ?? 0):\(error.column ?? 0) @\(error.offset ?? 0)")
      }
    }
  }

  @Test func `any line ending is read, and an error does not end the reading`() throws {
    var lines = JSONLinesReader()
    lines.append("1\n\n  \r\n{\"a\":\r2}\r\n[1,x]\n\"\u{FFFF}".utf8)
    #expect(try read(&lines) == ["1", #"{"a":2}"#, "invalidJSON 5:4 @20"])
    lines.append("\"".utf8)
    #expect(try read(&lines) == [])
    lines.append("\n3 4\ntrue".utf8)
    #expect(try read(&lines) == ["\"\u{FFFF}\"", "invalidJSON 7:3 @31"])
    lines.end()
    #expect(try read(&lines) == ["true"])
    #expect(lines.line == 8)
  }

  @Test func `a line that is too long is refused before it is complete`() throws {
    var lines = JSONLinesReader(lineLimit: 10)
    lines.append("[1,2]\n\"0123456789".utf8)
    #expect(try read(&lines) == ["[1,2]", "tooLarge 2:1 @6"])
    lines.append(" and more of it, ".utf8)
    #expect(try read(&lines) == [])
    lines.append("to the end\"\n5\n".utf8)
    #expect(try read(&lines) == ["5"])
    #expect(lines.line == 3)
    lines.append("\"a whole line that is too long\"\n6".utf8)
    lines.end()
    #expect(try read(&lines) == ["tooLarge 4:1 @48", "6"])
  }

  @Test func `one line is written per value`() throws {
    var text: [UInt8] = []
    do {
      var lines = JSONLinesWriter { text.append(contentsOf: $0) }
      for json in ["{\"b\":1,\"a\":\"x\\ny\"}", "[]", "null"] { try lines.append(FleeceText.fleece(json)) }
      try lines.flush()
    }
    #expect(String(decoding: text, as: UTF8.self) == "{\"a\":\"x\\ny\",\"b\":1}\n[]\nnull\n")
  }
}
