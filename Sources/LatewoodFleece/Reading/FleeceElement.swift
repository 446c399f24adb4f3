/// A value inside Fleece bytes, together with the owner of the bytes. It is read in place like
/// `FleeceValue`, but may be kept and sent anywhere.
package struct FleeceElement: Sendable {
  package let body: FleeceBody
  private let offset: Int
  private let limit: Int

  /// - Parameter value: a value inside the bytes of `body`.
  init(_ value: FleeceValue, of body: FleeceBody) {
    self.body = body
    offset = value.offset
    limit = value.limit
  }

  /// Calls `body` with the value, which is valid only during the call.
  package func withValue<R>(_ body: (FleeceValue) throws(FleeceError) -> R) throws(FleeceError) -> R {
    try self.body.bytes.withContents { (bytes) throws(FleeceError) -> R in
      guard let start = bytes.baseAddress else { throw FleeceError.damaged(at: 0, "the body is empty") }
      // SAFETY: the owner's bytes never change, so the earlier checks of this offset still hold.
      return try body(FleeceValue(start: start, length: bytes.count, offset: offset, limit: limit))
    }
  }

  package var kind: FleeceValue.Kind {
    get throws(FleeceError) { try withValue { value throws(FleeceError) in value.kind } }
  }

  package func number() throws(FleeceError) -> FleeceValue.Number? {
    try withValue { value throws(FleeceError) in try value.number() }
  }

  /// The value of a whole number that is not negative; nil for any other value.
  package func natural() throws(FleeceError) -> UInt64? {
    switch try number() {
    case .integer(let value): UInt64(exactly: value)
    case .unsigned(let value): value
    case .double, nil: nil
    }
  }

  package func boolean() throws(FleeceError) -> Bool? {
    try withValue { value throws(FleeceError) in value.boolean }
  }

  package func string() throws(FleeceError) -> String? {
    try withValue { value throws(FleeceError) in try value.string() }
  }

  package func data() throws(FleeceError) -> [UInt8]? {
    try withValue { value throws(FleeceError) in try value.data().map { Array($0) } }
  }

  /// Returns the number of values in an array or of members in a dictionary; nil for all other
  /// values.
  package func count() throws(FleeceError) -> Int? {
    try withValue { value throws(FleeceError) in
      if let array = try value.array() { return array.count }
      return try value.dictionary()?.count()
    }
  }

  /// Returns the value at an index of an array. Nil if this is not an array, or the index is out of
  /// range.
  package func element(at index: Int) throws(FleeceError) -> FleeceElement? {
    try withValue { value throws(FleeceError) in
      guard let array = try value.array(), index >= 0, index < array.count else { return nil }
      return FleeceElement(try array.value(at: index), of: body)
    }
  }

  /// Returns the value of a key of a dictionary. Nil if this is not a dictionary, or does not have
  /// the key.
  package func element(for key: String) throws(FleeceError) -> FleeceElement? {
    try withValue { value throws(FleeceError) in
      try value.dictionary()?.value(for: key).map { FleeceElement($0, of: body) }
    }
  }

  /// The same for a name that is looked up in many dictionaries.
  package func element(for name: FleeceName) throws(FleeceError) -> FleeceElement? {
    try withValue { value throws(FleeceError) in
      try value.dictionary()?.value(for: name).map { FleeceElement($0, of: body) }
    }
  }

  /// Returns the members of a dictionary in the order of their keys; nil for all other values.
  package func members() throws(FleeceError) -> [(key: String, value: FleeceElement)]? {
    try withValue { value throws(FleeceError) in
      guard let dictionary = try value.dictionary() else { return nil }
      var members = try dictionary.members()
      var found: [(key: String, value: FleeceElement)] = []
      // The count cannot be greater than the number of bytes.
      found.reserveCapacity(dictionary.items.slots / 2)
      while let member = try members.next() {
        guard member.key.withStart({ UTF8Text.isValid($0, $1) }) else {
          throw FleeceError.damaged(at: value.offset, "a key is not UTF-8")
        }
        let key = String(decoding: member.key, as: UTF8.self)
        found.append((key, FleeceElement(member.value, of: body)))
      }
      return found
    }
  }

  /// Writes the members of this dictionary whose keys a closure accepts into the writer's open
  /// dictionary, each with everything in it. Other values have no members, so nothing is written.
  package func writeMembers(
    to writer: inout FleeceWriter, where isKept: (UnsafeRawBufferPointer) -> Bool
  ) throws(FleeceError) {
    try withValue { value throws(FleeceError) in
      guard let dictionary = try value.dictionary() else { return }
      var members = try dictionary.members()
      while let member = try members.next() {
        guard isKept(member.key) else { continue }
        guard member.key.withStart({ UTF8Text.isValid($0, $1) }) else {
          throw FleeceError.damaged(at: value.offset, "a key is not UTF-8")
        }
        try writer.key(member.key)
        try writer.value(member.value)
      }
    }
  }

  /// Writes the value, with everything in it.
  package func write(to writer: inout FleeceWriter) throws(FleeceError) {
    try withValue { value throws(FleeceError) in try writer.value(value) }
  }

  /// Returns the bytes of the whole body if this is its root and encoding it again would produce
  /// the same bytes; otherwise nil.
  package func writtenBytes() throws(FleeceError) -> [UInt8]? {
    body.isCanonical ? try isRoot ? body.bytes : nil : nil
  }

  /// Whether this is the root of its body.
  var isRoot: Bool {
    get throws(FleeceError) {
      try body.withRoot { root throws(FleeceError) in root.offset == offset }
    }
  }

  /// Returns the keys of a dictionary that begin with a byte. Empty for all other values.
  package func keys(beginningWith first: UInt8) throws(FleeceError) -> [String] {
    try withValue { value throws(FleeceError) in
      guard let dictionary = try value.dictionary() else { return [] }
      if try dictionary.hasNoKey(beginningWith: first) { return [] }
      var members = try dictionary.members()
      var found: [String] = []
      while let member = try members.next() {
        if member.key.first == first { found.append(String(decoding: member.key, as: UTF8.self)) }
      }
      return found
    }
  }

  package func validate() throws(FleeceError) {
    try withValue { value throws(FleeceError) in try value.validate() }
  }
}
