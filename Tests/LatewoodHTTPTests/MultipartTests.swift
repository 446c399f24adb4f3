import LatewoodSimulation
import Testing

@testable import LatewoodHTTP

@Suite struct MultipartTests {
  private let text = Array(
    """
    preamble\r\n--b\r\nContent-Type: application/json\r\n\r\n{"a":1}\r\n--b \t\r\n\r\n\r\n--b\r\nX: y\r\n\r\n\
    \r\n--bc\r\n--b-\r\n\r--b\n--b\r\r\n--b--epilogue\r\n--b\r\n
    """.utf8)

  @Test func `parts do not depend on where the pieces end`() {
    let whole = ReadParts(text, boundary: "b")
    #expect(whole.headers == ["Content-Type=application/json", "", "X=y"])
    #expect(whole.parts == ["{\"a\":1}", "", "\r\n--bc\r\n--b-\r\n\r--b\n--b\r"])
    #expect(whole.hasEnded && whole.error == nil)
    for cut in 0...text.count { #expect(ReadParts(text, boundary: "b", cuts: [cut]) == whole) }
    #expect(ReadParts(text, boundary: "b", cuts: Array(0..<text.count)) == whole)
  }

  @Test func `a body without its last delimiter has not ended`() throws {
    let end = text.count - "--epilogue\r\n--b\r\n".utf8.count
    for length in 0..<(end + 2) { #expect(!ReadParts(Array(text[..<length]), boundary: "b").hasEnded) }
    #expect(ReadParts(Array(text[..<(end + 2)]), boundary: "b").hasEnded)
  }

  @Test func `parts that a writer frames are read back`() throws {
    var random = SeededRandom(seed: SeededRandom.seed(7))
    let writer = MultipartWriter(boundary: "9a32e8a30ad601647708a21092f30791")
    for _ in 0..<50 {
      var bytes: [UInt8] = []
      var expected: [String] = []
      for index in 0..<Int.random(in: 1...4, using: &random) {
        // Mostly bytes of delimiters, so that the content nearly contains one.
        let alphabet = Array("\r\n-9a3".utf8)
        let part = (0..<Int.random(in: 0...80, using: &random))
          .map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &random)] }
        bytes += try writer.begin(HTTPFields([("Content-Length", "\(part.count)")]), isFirst: index == 0)
        bytes += part
        expected.append(String(decoding: part, as: Unicode.ASCII.self))
      }
      bytes += writer.end
      let cuts = (0..<4).map { _ in Int.random(in: 0...bytes.count, using: &random) }.sorted()
      let read = ReadParts(bytes, boundary: writer.boundary, cuts: cuts)
      #expect(read.parts == expected && read.hasEnded && read.error == nil, "\(random.replay)")
    }
  }

  @Test func `a nested body is read by a second parser`() throws {
    let inner = "--in\r\n\r\n{}\r\n--in\r\n\r\nblob\r\n--in--"
    let outer = "--out\r\nContent-Type: multipart/related; boundary=\"in\"\r\n\r\n\(inner)\r\n--out--"
    let read = ReadParts(Array(outer.utf8), boundary: "out")
    #expect(read.parts == [inner])
    let value = try #require(HeaderValue(String(read.headers[0].dropFirst("Content-Type=".count))))
    #expect(ReadParts(Array(read.parts[0].utf8), boundary: value["boundary"] ?? "").parts == ["{}", "blob"])
  }

  @Test func `hostile bodies are refused`() {
    #expect(ReadParts(Array(repeating: 0x61, count: 5000), boundary: "b").error == .tooLarge)
    #expect(ReadParts(Array("--b\r\nX y\r\n\r\n".utf8), boundary: "b").error == .malformed)
    #expect(ReadParts(Array("--b\r\nX: y\n\r\n".utf8), boundary: "b").error == .malformed)
    #expect(ReadParts([], boundary: "").error == .malformed)
    #expect(ReadParts([], boundary: String(repeating: "x", count: 71)).error == .malformed)
    #expect(ReadParts([], boundary: "a\r\nb").error == .malformed)
  }
}
