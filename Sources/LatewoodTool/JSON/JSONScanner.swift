/// Checks JSON texts strictly by RFC 8259 and copies them without the white space between tokens;
/// builds no tree.
///
/// Strings and numbers are copied byte for byte, so no digit and no escape ever changes. Memory
/// does not grow with the text: the scanner keeps one byte for each level of nesting, which is
/// limited.
struct JSONScanner {
  /// The maximum depth of nested arrays and objects.
  static let depthLimit = 512

  var input: JSONInput

  /// Reads one value, with white space before it, and appends its compact form to `output`.
  mutating func value(into output: inout [UInt8], depthLimit: Int = JSONScanner.depthLimit) throws(Failure) {
    var open: [UInt8] = []
    while true {
      try input.skipSpace()
      guard let byte = try input.peek() else {
        throw input.failure("expected a value, but found the end of the text")
      }
      switch byte {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        guard open.count < depthLimit else {
          throw input.failure("arrays and objects are nested more than \(Self.depthLimit) levels deep")
        }
        take(byte, into: &output)
        try input.skipSpace()
        if try input.peek() == Self.closing(byte) {
          take(Self.closing(byte), into: &output)
        } else {
          open.append(byte)
          if byte == UInt8(ascii: "{") { try memberName(into: &output) }
          continue
        }
      case UInt8(ascii: "\""): try string(into: &output)
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number(into: &output)
      case UInt8(ascii: "t"): try literal("true", into: &output)
      case UInt8(ascii: "f"): try literal("false", into: &output)
      case UInt8(ascii: "n"): try literal("null", into: &output)
      default: throw input.failure("\(Self.shown(byte)) cannot start a value")
      }
      if try !nextValueFollows(&open, into: &output) { return }
    }
  }

  /// Closes all collections that end after a value. Returns true if a comma announces another
  /// value, false if the outermost value is complete.
  private mutating func nextValueFollows(_ open: inout [UInt8], into output: inout [UInt8]) throws(Failure)
    -> Bool
  {
    while let innermost = open.last {
      try input.skipSpace()
      let isObject = innermost == UInt8(ascii: "{")
      switch try input.peek() {
      case UInt8(ascii: ","):
        take(UInt8(ascii: ","), into: &output)
        if isObject {
          try input.skipSpace()
          try memberName(into: &output)
        }
        return true
      case Self.closing(innermost):
        take(Self.closing(innermost), into: &output)
        open.removeLast()
      case nil: throw input.failure("the text ends inside \(isObject ? "an object" : "an array")")
      case let byte?:
        throw input.failure(
          "expected a comma or \(isObject ? "}" : "]"), but found \(Self.shown(byte))")
      }
    }
    return false
  }

  /// Reads the name of a member, and appends it in its quotes, with the colon.
  mutating func memberName(into output: inout [UInt8]) throws(Failure) {
    guard let byte = try input.peek() else { throw input.failure("the text ends inside an object") }
    guard byte == UInt8(ascii: "\"") else {
      throw input.failure("expected the name of a member in double quotes, but found \(Self.shown(byte))")
    }
    try string(into: &output)
    try input.skipSpace()
    guard try input.peek() == UInt8(ascii: ":") else {
      throw input.failure("the name of a member is not followed by a colon")
    }
    take(UInt8(ascii: ":"), into: &output)
  }

  private mutating func literal(_ word: StaticString, into output: inout [UInt8]) throws(Failure) {
    for index in 0..<word.utf8CodeUnitCount {
      let expected = word.withUTF8Buffer { $0[index] }
      guard try input.peek() == expected else { throw input.failure("this should read \(word)") }
      take(expected, into: &output)
    }
  }

  /// Reads `-`? (`0` | digit 1 to 9, digits) (`.` digits)? (`e` sign? digits)?
  private mutating func number(into output: inout [UInt8]) throws(Failure) {
    if try input.peek() == UInt8(ascii: "-") { take(UInt8(ascii: "-"), into: &output) }
    if try input.peek() == UInt8(ascii: "0") {
      take(UInt8(ascii: "0"), into: &output)
      if let byte = try input.peek(), Self.isDigit(byte) {
        throw input.failure("a number cannot start with a superfluous 0")
      }
    } else {
      try digits(into: &output)
    }
    if try input.peek() == UInt8(ascii: ".") {
      take(UInt8(ascii: "."), into: &output)
      try digits(into: &output)
    }
    if let byte = try input.peek(), byte | 0x20 == UInt8(ascii: "e") {
      take(byte, into: &output)
      if let sign = try input.peek(), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
        take(sign, into: &output)
      }
      try digits(into: &output)
    }
  }

  private mutating func digits(into output: inout [UInt8]) throws(Failure) {
    var any = false
    while let byte = try input.peek(), Self.isDigit(byte) {
      take(byte, into: &output)
      any = true
    }
    if !any { throw input.failure("a digit is missing in this number") }
  }

  mutating func take(_ byte: UInt8, into output: inout [UInt8]) {
    output.append(byte)
    input.advance()
  }

  private static func closing(_ byte: UInt8) -> UInt8 {
    byte == UInt8(ascii: "{") ? UInt8(ascii: "}") : UInt8(ascii: "]")
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

  static func shown(_ byte: UInt8) -> String {
    (0x21..<0x7F).contains(byte) ? "\(Character(Unicode.Scalar(byte)))" : "the byte 0x\(Hex.encode([byte]))"
  }
}
