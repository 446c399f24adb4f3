import Testing

@testable import LatewoodFleece

@Suite struct JSONSliceTests {
  private func value(_ path: String, _ text: String) -> String? {
    let names = path.split(separator: ".", omittingEmptySubsequences: false).map { Array($0.utf8) }
    return Array(text.utf8).withUnsafeBytes { text in
      JSONSlice(text).value(at: names).map { String(decoding: $0.bytes, as: UTF8.self) }
    }
  }

  private func string(_ text: String) -> String? {
    Array(text.utf8).withUnsafeBytes { JSONSlice($0).string() }.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func `members are found by their paths`() {
    let text = #"{"a":{"b":[1,{"c":2}],"d":"x,}]\""},"e":-1.5e3,"f":{},"":{"":7}}"#
    #expect(value("a.b", text) == #"[1,{"c":2}]"#)
    #expect(value("a.d", text) == #""x,}]\"""#)
    #expect(value("e", text) == "-1.5e3")
    #expect(value("f", text) == "{}")
    #expect(value(".", text) == "7")
    for missing in ["b", "a.c", "e.x", "f.x", "a.b.c"] { #expect(value(missing, text) == nil) }
  }

  @Test func `the last of several members with the same name counts`() {
    #expect(value("a", #"{"a":1,"\u0061":2}"#) == "2")
  }

  @Test func `escapes are decoded`() {
    #expect(string(#""\"\\\/\b\f\n\r\t""#) == "\"\\/\u{8}\u{C}\n\r\t")
    #expect(string(#""\u00e9\u540d\ud83d\udc4b""#) == "é名👋")
    #expect(string(#""\ud83d""#) == nil)
    #expect(string(#""\ud83dx""#) == nil)
    #expect(string(#""\ud83d\u0041""#) == nil)
    #expect(string(#""\udc4b""#) == nil)
    #expect(string("12") == nil)
  }

  @Test func `text is written the same way it is read`() throws {
    let text = "a\"b\\c\n\r\t\u{1}\u{7F}é名👋/"
    var writer = JSONOutput()
    writer.text(text)
    let written = writer.take()
    #expect(string(String(decoding: written, as: UTF8.self)) == text)
    #expect(JSON.compact(written) == written)
  }

  @Test func `members are found in text with white space, and text that is not JSON has none`() throws {
    #expect(value("a.b", " {}") == nil)
    #expect(value("a.b", "{ \"a\" : { \"b\" :\t1 , \"c\":2} }") == "1")
    for text in [
      "[1]", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1 \"b\":2}", "{\"a\":1,}", "{,}", "{1:2}", "{x", "",
    ] {
      #expect(Array(text.utf8).withUnsafeBytes { JSONSlice($0).members() == nil }, "\(text)")
    }
  }

  @Test func `an object is put together from members of another`() throws {
    let text = Array(#"{"a":1.50,"\u0062":"x","c":[1, 2]}"#.utf8)
    let rest = text.withUnsafeBytes { text in
      JSONSlice.object((JSONSlice(text).members() ?? []).filter { $0.name.string() != Array("b".utf8) })
    }
    #expect(String(decoding: rest, as: UTF8.self) == #"{"a":1.50,"c":[1, 2]}"#)
    #expect(JSONSlice.object([]) == Array("{}".utf8))
  }
}
