/// A text that is compared by its bytes: two with different bytes are different, even if Unicode
/// considers them equal.
package struct TextKey: Hashable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (left: TextKey, right: TextKey) -> Bool {
    // Buffers are compared many times faster than views of strings.
    var (left, right) = (left.text, right.text)
    return left.withUTF8 { left in right.withUTF8 { right in left.elementsEqual(right) } }
  }

  package func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
