import LatewoodFleece

/// Members and lists, as the reports of commands need them.
extension JSONOutput {
  mutating func number(_ number: some BinaryInteger) {
    if number < 0 { integer(Int64(number)) } else { unsigned(UInt64(number)) }
  }

  /// Writes bytes as a string if they are UTF-8, else as `{"base64":"…"}`: the form of keys and
  /// values in all output of the tool.
  mutating func bytes(_ bytes: [UInt8]) {
    guard let value = String(validating: bytes, as: UTF8.self) else {
      beginDictionary()
      member("base64", Base64.encode(bytes))
      return endDictionary()
    }
    text(value)
  }

  mutating func member(_ name: String, _ value: String) {
    key(name)
    text(value)
  }
  mutating func member(_ name: String, _ value: some BinaryInteger) {
    key(name)
    number(value)
  }
  mutating func member(_ name: String, _ value: Bool) {
    key(name)
    boolean(value)
  }
  mutating func member(_ name: String, data value: [UInt8]) {
    key(name)
    bytes(value)
  }

  mutating func optional(_ name: String, _ value: (some BinaryInteger)?) {
    key(name)
    if let value { number(value) } else { null() }
  }

  mutating func optional(_ name: String, text value: String?) {
    key(name)
    if let value { text(value) } else { null() }
  }

  /// Writes an array; `element` writes each item.
  mutating func array<Item>(
    _ name: String, _ items: some Sequence<Item>, _ element: (inout JSONOutput, Item) -> Void
  ) {
    key(name)
    beginArray()
    for item in items { element(&self, item) }
    endArray()
  }

  /// Writes an array of objects.
  mutating func list<Item>(
    _ name: String, _ items: some Sequence<Item>, _ members: (inout JSONOutput, Item) -> Void
  ) {
    array(name, items) { writer, item in
      writer.beginDictionary()
      members(&writer, item)
      writer.endDictionary()
    }
  }
}
