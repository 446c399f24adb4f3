import LatewoodFleece
import Testing

@testable import LatewoodTool

@Suite struct JSONTextTests {
  private func value(_ path: String, _ text: String) -> String? {
    let names = path.split(separator: ".", omittingEmptySubsequences: false).map { Array($0.utf8) }
    return JSONText.value(at: names, in: Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) }
  }

  private func string(_ text: String) -> String? {
    JSONText.string(Array(text.utf8)[...]).map { String(decoding: $0, as: UTF8.self) }
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
    #expect(JSONText.compact(written) == written)
  }

  @Test func `nested values are written correctly`() {
    var writer = JSONOutput()
    writer.beginDictionary()
    writer.member("text", "x")
    writer.member("bytes", data: [0xFF, 0x00])
    writer.key("list")
    writer.beginArray()
    writer.number(1)
    writer.beginArray()
    writer.endArray()
    writer.null()
    writer.boolean(true)
    writer.endArray()
    writer.member("last", 2)
    writer.endDictionary()
    let text = String(decoding: writer.take(), as: UTF8.self)
    #expect(text == #"{"text":"x","bytes":{"base64":"/wA="},"list":[1,[],null,true],"last":2}"#)
  }
}
