/// Receives the tokens of a JSON value from `JSONReader.value(into:)`, and reads those of its
/// strings and numbers.
///
/// Collections have numbers of the builder's choice, from which it knows whether they are objects.
protocol JSONBuilder: ~Copyable {
  /// The number of open collections.
  var depth: Int { get }
  /// The greatest number of open collections.
  var depthLimit: Int { get }
  func isObject(_ collection: UInt32) -> Bool
  /// Reads a key, starting at its opening quote, and returns its number.
  mutating func key(_ reader: inout JSONReader) throws(JSONError) -> UInt32
  mutating func string(
    _ reader: inout JSONReader, in parent: UInt32, key: UInt32
  ) throws(JSONError)
  mutating func number(
    _ reader: inout JSONReader, in parent: UInt32, key: UInt32
  ) throws(JSONError)
  /// Adds `null`, `true` or `false`.
  mutating func word(_ kind: ValueTape.Kind, in parent: UInt32, key: UInt32)
  /// Adds a collection, which may be empty, and returns its number.
  mutating func add(isObject: Bool, in parent: UInt32, key: UInt32) -> UInt32
  /// Opens a collection that is not empty.
  mutating func enter(_ collection: UInt32)
  /// Closes the innermost collection and returns the one around it, or `ValueTape.none`.
  mutating func leave() -> UInt32
}

/// The grammar of RFC 8259, for all that read JSON.
extension JSONReader {
  /// Reads one value with everything in it. Not recursive.
  @inline(__always) mutating func value<Builder: JSONBuilder & ~Copyable>(
    into builder: inout Builder
  ) throws(JSONError) {
    var parent = ValueTape.none
    var isMember = false
    while true {
      let key = isMember ? try name(&builder) : ValueTape.none
      skipSpace()
      switch peek {
      case UInt8(ascii: "\""): try builder.string(&self, in: parent, key: key)
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        try builder.number(&self, in: parent, key: key)
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        let isObject = peek == UInt8(ascii: "{")
        guard builder.depth < builder.depthLimit else { throw refusal(.tooDeep) }
        at &+= 1
        skipSpace()
        let collection = builder.add(isObject: isObject, in: parent, key: key)
        if peek == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")), !isAtEnd {
          at &+= 1
        } else {
          builder.enter(collection)
          parent = collection
          isMember = isObject
          continue
        }
      case UInt8(ascii: "t"):
        try word("true")
        builder.word(.yes, in: parent, key: key)
      case UInt8(ascii: "f"):
        try word("false")
        builder.word(.no, in: parent, key: key)
      case UInt8(ascii: "n"):
        try word("null")
        builder.word(.null, in: parent, key: key)
      default: throw refusal(isAtEnd ? .endInsteadOfValue : .noValue)
      }
      guard let follows = try nextFollows(&builder, &parent) else { return }
      isMember = follows
    }
  }

  /// Reads the name of a member and the colon after it.
  @inline(__always) mutating func name<Builder: JSONBuilder & ~Copyable>(
    _ builder: inout Builder
  ) throws(JSONError) -> UInt32 {
    skipSpace()
    guard peek == UInt8(ascii: "\"") else { throw refusal(.noName) }
    let key = try builder.key(&self)
    skipSpace()
    guard peek == UInt8(ascii: ":") else { throw refusal(.noColon) }
    at &+= 1
    return key
  }

  /// Closes the collections that end after a value. Returns nil after the outermost value.
  /// Otherwise another value follows after a comma, and the result is whether it is a member of an
  /// object.
  @inline(__always) private mutating func nextFollows<Builder: JSONBuilder & ~Copyable>(
    _ builder: inout Builder, _ parent: inout UInt32
  ) throws(JSONError) -> Bool? {
    while parent != ValueTape.none {
      let isObject = builder.isObject(parent)
      skipSpace()
      switch peek {
      case UInt8(ascii: ","):
        at &+= 1
        return isObject
      case UInt8(ascii: "}") where isObject, UInt8(ascii: "]") where !isObject:
        at &+= 1
        parent = builder.leave()
      default: throw refusal(isObject ? .noCommaInObject : .noCommaInArray)
      }
    }
    return nil
  }
}
