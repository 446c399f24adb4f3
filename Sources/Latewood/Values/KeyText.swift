/// A key of a dictionary, compared by its bytes. Swift treats composed and decomposed strings as
/// equal; documents do not.
struct KeyText: Hashable, Comparable, Sendable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (a: KeyText, b: KeyText) -> Bool {
    var (first, second) = (a.text, b.text)
    return first.withUTF8 { first in second.withUTF8 { second in first.elementsEqual(second) } }
  }

  static func < (a: KeyText, b: KeyText) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }

  func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(0xFF as UInt8)
  }
}
