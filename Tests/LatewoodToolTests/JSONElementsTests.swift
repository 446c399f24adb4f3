import Testing

@testable import LatewoodTool

@Suite struct JSONElementsTests {
  private func elements(
    _ text: String, asSequence: Bool = false, pieceLength: Int = 65536
  ) throws(Failure) -> [String] {
    var elements = JSONElements(JSONInput(Array(text.utf8), pieceLength: pieceLength))
    var all: [String] = []
    var element: [UInt8] = []
    _ = try elements.begin(asSequence: asSequence)
    while try elements.next(into: &element) { all.append(String(decoding: element, as: UTF8.self)) }
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

  @Test func `a byte order mark is ignored`() throws {
    #expect(try elements("\u{FEFF}[1]") == ["1"])
    #expect(try elements("\u{FEFF}1\n2") == ["1", "2"])
  }

  @Test(arguments: ["[1,]", "[1", "[", "[1]2", "[1][2]", "[,]", "[1 2]", "{}{}", "1\n]", "{\"a\":1},"])
  func `text that is neither an array nor lines is refused`(text: String) {
    #expect(throws: Failure.self) { try elements(text) }
  }

  @Test func `the line of an element is known`() throws {
    var elements = JSONElements(JSONInput(Array("[1,\n\n{\n},\n3]".utf8)))
    var element: [UInt8] = []
    _ = try elements.begin(asSequence: false)
    var lines: [Int] = []
    while try elements.next(into: &element) { lines.append(elements.line) }
    #expect(lines == [1, 3, 5])
  }

  @Test func `the last element is known as the last before the next is asked for`() throws {
    var elements = JSONElements(JSONInput(Array("{}\n{}\n".utf8)))
    var element: [UInt8] = []
    _ = try elements.begin(asSequence: false)
    #expect(try elements.next(into: &element))
    #expect(try !elements.isAtEnd())
    #expect(try elements.next(into: &element))
    #expect(try elements.isAtEnd())
    #expect(try !elements.next(into: &element))
  }

  @Test func `an array takes one level of the depth`() {
    let inside = String(repeating: "[", count: 511) + String(repeating: "]", count: 511)
    #expect(throws: Never.self) { try elements("[\(inside)]") }
    #expect(throws: Failure.self) { try elements("[[\(inside)]]") }
  }
}
