extension JSONScanner {
  /// Reads a string with its quotes: no control characters, only known escapes, valid UTF-8.
  mutating func string(into output: inout [UInt8]) throws(Failure) {
    take(UInt8(ascii: "\""), into: &output)
    while true {
      copyPlainBytes(into: &output)
      guard let byte = try input.peek() else { throw input.failure("the text ends inside a string") }
      switch byte {
      case UInt8(ascii: "\""):
        take(byte, into: &output)
        return
      case UInt8(ascii: "\\"): try escape(into: &output)
      case 0x80...: try multibyteScalar(byte, into: &output)
      case ..<0x20:
        throw input.failure(
          byte == UInt8(ascii: "\n")
            ? "a string is not closed on its line; a line break inside is written \\n"
            : "\(Self.shown(byte)) inside a string must be written as an escape")
      default: take(byte, into: &output)
      }
    }
  }

  /// Copies a run of plain ASCII within the buffer in one step: the fast path.
  private mutating func copyPlainBytes(into output: inout [UInt8]) {
    let start = input.position
    // SAFETY: `at` stays below `count`, which never exceeds the length of the buffer (invariant 1
    // of JSONInput).
    let end = input.bytes.withUnsafeBufferPointer { bytes in
      var at = start
      while at < input.count {
        let byte = bytes[at]
        if byte < 0x20 || byte >= 0x80 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
        at += 1
      }
      return at
    }
    output.append(contentsOf: input.bytes[start..<end])
    input.position = end
  }

  private mutating func escape(into output: inout [UInt8]) throws(Failure) {
    let (line, column) = (input.line, input.column)
    take(UInt8(ascii: "\\"), into: &output)
    guard let byte = try input.peek() else { throw input.failure("the text ends inside a string") }
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      take(byte, into: &output)
    case UInt8(ascii: "u"):
      take(byte, into: &output)
      for _ in 0..<4 {
        guard let digit = try input.peek(), Hex.value(of: digit) != nil else {
          throw input.failure("\\u needs four hexadecimal digits", line: line, column: column)
        }
        take(digit, into: &output)
      }
    default:
      throw input.failure("\\ before \(Self.shown(byte)) is not an escape", line: line, column: column)
    }
  }

  /// Reads a scalar of two to four bytes, by table 3-7 of the Unicode standard: no overlong forms,
  /// no surrogates, nothing above U+10FFFF.
  private mutating func multibyteScalar(_ first: UInt8, into output: inout [UInt8]) throws(Failure) {
    let (line, column) = (input.line, input.column)
    let form: (more: Int, second: ClosedRange<UInt8>)? =
      switch first {
      case 0xC2...0xDF: (1, 0x80...0xBF)
      case 0xE0: (2, 0xA0...0xBF)
      case 0xED: (2, 0x80...0x9F)
      case 0xE1...0xEF: (2, 0x80...0xBF)
      case 0xF0: (3, 0x90...0xBF)
      case 0xF1...0xF3: (3, 0x80...0xBF)
      case 0xF4: (3, 0x80...0x8F)
      default: nil
      }
    guard let form else { throw input.failure("\(Self.shown(first)) is not UTF-8") }
    take(first, into: &output)
    for index in 0..<form.more {
      let allowed = index == 0 ? form.second : 0x80...0xBF
      guard let byte = try input.peek(), allowed.contains(byte) else {
        throw input.failure("a character is incomplete in UTF-8", line: line, column: column)
      }
      take(byte, into: &output)
      input.countContinuationByte()
    }
  }
}
