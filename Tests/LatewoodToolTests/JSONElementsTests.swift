import LatewoodFleece
import Testing

@testable import LatewoodTool

@Suite struct JSONElementsTests {
  private func elements(
    _ text: String, asSequence: Bool = false, pieceLength: Int = 65536
  ) throws -> [String] {
    var elements = JSONElements(try TextWindow(Array(text.utf8), pieceLength: pieceLength))
    var all: [String] = []
    _ = try elements.begin(asSequence: asSequence)
    while try elements.next() { all.append(String(decoding: elements.element.bytes, as: UTF8.self)) }
    return all
  }

  @Test func `an array is split into its elements`() throws {
    for pieceLength in [1, 5, 65536] {
      #expect(
        try elements(" [ 1 , {\"a\": [2]} ,\n\"x\" ] \n", pieceLength: pieceLength) == [
          "1", #"{"a":[2]}"#, #""x""#,
        ])
    }
    #expect(try elements("[]") == [])
    #expect(try elements("[\n]\n") == [])
  }

  @Test func `lines are split into elements`() throws {
    for pieceLength in [1, 5, 65536] {
      #expect(try elements("{\"a\":1}\n{\"a\":2}\r\n\n{\"a\":3}", pieceLength: pieceLength).count == 3)
    }
    #expect(try elements("") == [])
    #expect(try elements(" \n ") == [])
    #expect(try elements("[1]\n[2]\n", asSequence: true) == ["[1]", "[2]"])
  }

  /// Reads a text with `nextLine` where that accepts a line, and with `next` elsewhere.
  private func lines(
    _ text: String, pieceLength: Int, isTaken: (String) -> Bool
  ) throws -> (all: [String], lines: [Int], taken: Int) {
    var elements = JSONElements(try TextWindow(Array(text.utf8), pieceLength: pieceLength))
    var result: (all: [String], lines: [Int], taken: Int) = ([], [], 0)
    _ = try elements.begin(asSequence: true)
    while true {
      while try elements.nextLine({ text, index, line in
        #expect(index == result.all.count)
        let text = String(decoding: text, as: UTF8.self)
        guard isTaken(text) else { return false }
        result.all.append(text.filter { !$0.isWhitespace })
        result.lines.append(line)
        result.taken += 1
        return true
      }) {}
      guard try elements.next() else { return result }
      result.all.append(String(decoding: elements.element.bytes, as: UTF8.self))
      result.lines.append(elements.line)
    }
  }

  @Test func `lines that are taken whole give the same elements and line numbers`() throws {
    let text = "{\"a\": 1}\n\n [1,\n2] \n3 4\r\n  5\n{\n}6 7\n\"ü\" \n8\n9"
    // A number or a string, an object of one member: texts that a parser would accept.
    func isWhole(_ line: String) -> Bool {
      let line = line.filter { $0 != "\r" && $0 != "\r\n" }.split(separator: " ").joined()
      return ["{\"a\":1}", "5", "\"ü\"", "8"].contains(line)
    }
    // A separator is required after an object.
    #expect(throws: Failure.self) { try lines(text, pieceLength: 65536, isTaken: isWhole) }
    let correct = text.replacing("}6", with: "} 6")
    for pieceLength in [1, 5, 16, 65536] {
      let plain = try lines(correct, pieceLength: pieceLength) { _ in false }
      let found = try lines(correct, pieceLength: pieceLength, isTaken: isWhole)
      #expect(found.all == plain.all && found.lines == plain.lines, "pieces of \(pieceLength)")
      #expect(found.all.count == 11 && plain.taken == 0)
      if pieceLength == 65536 { #expect(found.taken == 4) }
    }
    // The rest of a line directly behind an element is not accepted, regardless of the closure's
    // result.
    #expect(throws: Failure.self) { try lines("{\n}6\n", pieceLength: 65536) { $0 == "6" } }
  }

  @Test func `a byte order mark is ignored`() throws {
    #expect(try elements("\u{FEFF}[1]") == ["1"])
    #expect(try elements("\u{FEFF}1\n2") == ["1", "2"])
    // Only at the start, even if whoever takes whole lines would accept it.
    #expect(throws: Failure.self) { try lines("1\n\u{FEFF}2\n", pieceLength: 65536) { _ in true } }
  }

  @Test func `a value stays in memory while the text after it is read`() throws {
    // It ends where the memory does.
    let text = String(repeating: " ", count: 65536 - 5) + "\"abc\" 7"
    let window = try TextWindow(Array(text.utf8))
    try window.readValue(depthLimit: 10)
    #expect(try window.peek() == UInt8(ascii: " "))
    #expect(window.value.string() == Array("abc".utf8))
  }

  @Test(arguments: ["[1,]", "[1", "[", "[1]2", "[1][2]", "[,]", "[1 2]", "{}{}", "1\n]", "{\"a\":1},"])
  func `text that is neither an array nor lines is refused`(text: String) {
    #expect(throws: Failure.self) { try elements(text) }
  }

  @Test func `each element reports its line`() throws {
    var elements = JSONElements(try TextWindow(Array("[1,\n\n{\n},\n3]".utf8)))
    _ = try elements.begin(asSequence: false)
    var lines: [Int] = []
    while try elements.next() { lines.append(elements.line) }
    #expect(lines == [1, 3, 5])
  }

  @Test func `the last element is recognized before the next one is requested`() throws {
    var elements = JSONElements(try TextWindow(Array("{}\n{}\n".utf8)))
    _ = try elements.begin(asSequence: false)
    #expect(try elements.next())
    #expect(try !elements.isAtEnd())
    #expect(try elements.next())
    #expect(try elements.isAtEnd())
    #expect(try !elements.next())
  }

  @Test func `an element stays in memory while the text after it is read`() throws {
    for space in [0, 1, 70_000, 200_000] {
      for length in [1, 70_000] {
        let text = "\"" + String(repeating: "é", count: length) + "\""
        let source = "[\n 1 , \(text)" + String(repeating: " ", count: space) + "] \n"
        var elements = JSONElements(try TextWindow(Array(source.utf8), pieceLength: 50_000))
        _ = try elements.begin(asSequence: true)
        #expect(try elements.next() && elements.isAtEnd())
        #expect(elements.element.bytes.elementsEqual("[1,\(text)]".utf8))
        #expect(try !elements.next())
      }
    }
  }

  @Test func `errors have positions behind any number of pieces`() throws {
    let start = String(repeating: "[\"é\", 1]\n", count: 20_000)
    for pieceLength in [1, 1000, 65536] {
      let failure = #expect(throws: Failure.self) {
        try elements(start + " [\"éé\", x]", asSequence: true, pieceLength: pieceLength)
      }
      #expect(failure?.line == 20_001 && failure?.column == 9 && failure?.code == "invalidJSON")
      let column = #expect(throws: Failure.self) {
        try elements("[" + start.replacing("\n", with: ",") + "x]", pieceLength: pieceLength)
      }
      #expect(column?.line == 1 && column?.column == 20_000 * 9 + 2)
    }
  }

  @Test func `an array counts as one level of depth`() {
    let inside = String(repeating: "[", count: 511) + String(repeating: "]", count: 511)
    #expect(throws: Never.self) { try elements("[\(inside)]") }
    #expect(throws: Failure.self) { try elements("[[\(inside)]]") }
  }
}
