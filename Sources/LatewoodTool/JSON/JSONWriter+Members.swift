extension JSONWriter {
  mutating func optional(_ name: String, _ value: (some BinaryInteger)?) {
    self.name(name)
    if let value { number(value) } else { null() }
  }

  mutating func optional(_ name: String, text: String?) {
    self.name(name)
    if let text { string(text) } else { null() }
  }

  /// Writes an array; `element` writes each item.
  mutating func array<Item>(
    _ name: String, _ items: some Sequence<Item>, _ element: (inout JSONWriter, Item) -> Void
  ) {
    self.name(name)
    beginArray()
    for item in items { element(&self, item) }
    endArray()
  }

  /// Writes an array of objects.
  mutating func list<Item>(
    _ name: String, _ items: some Sequence<Item>, _ members: (inout JSONWriter, Item) -> Void
  ) {
    array(name, items) { writer, item in
      writer.beginObject()
      members(&writer, item)
      writer.endObject()
    }
  }
}
