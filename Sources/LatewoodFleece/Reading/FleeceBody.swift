/// Fleece bytes with an owner: the content of a document. Copies share the bytes.
package struct FleeceBody: Sendable {
  package let bytes: [UInt8]
  /// Whether the bytes are in this library's canonical form, so that encoding the value again would
  /// produce the same bytes.
  let isCanonical: Bool

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
    isCanonical = false
  }

  /// - Parameter bytes: the fresh output of a `FleeceWriter`.
  package init(written bytes: [UInt8]) {
    self.bytes = bytes
    isCanonical = true
  }

  /// Calls `body` with the root, which is valid only during the call.
  package func withRoot<R>(_ body: (FleeceValue) throws(FleeceError) -> R) throws(FleeceError) -> R {
    try bytes.withContents { (bytes) throws(FleeceError) -> R in
      try body(try FleeceValue.root(of: bytes))
    }
  }

  package var root: FleeceElement {
    get throws(FleeceError) {
      try withRoot { value throws(FleeceError) in FleeceElement(value, of: self) }
    }
  }
}
