/// The encoding of a text that a command reads.
enum TextEncoding: String, CaseIterable {
  case utf8 = "utf-8"
  /// UTF-16 in the order of bytes that its byte order mark, or its first character, tells.
  case utf16 = "utf-16"
  case utf16LittleEndian = "utf-16le"
  case utf16BigEndian = "utf-16be"

  /// The number of bytes at the start of a text that tell its encoding.
  static let markLength = 4

  private static let mark8: [UInt8] = [0xEF, 0xBB, 0xBF]
  private static let littleEndianMark: [UInt8] = [0xFF, 0xFE]
  private static let bigEndianMark: [UInt8] = [0xFE, 0xFF]

  /// Returns the decoder for a text; nil if it is UTF-8.
  ///
  /// - Parameters:
  ///   - start: the first `markLength` bytes of the text, or all if it is shorter.
  ///   - wanted: the encoding that was chosen; nil to rely on the byte order mark.
  /// - Returns: the decoder, and the number of bytes of the mark before the text.
  static func decoder(
    forTextFrom start: ArraySlice<UInt8>, as wanted: TextEncoding?
  ) throws(Failure) -> (decoder: UTF16Decoder, markLength: Int)? {
    if start.starts(with: [0xFF, 0xFE, 0, 0]) || start.elementsEqual([0, 0, 0xFE, 0xFF]) {
      throw failure("the text is UTF-32", advice: "Convert it first: iconv -f UTF-32 -t UTF-8")
    }
    let found: TextEncoding? =
      start.starts(with: mark8)
      ? .utf8
      : start.starts(with: littleEndianMark)
        ? .utf16LittleEndian : start.starts(with: bigEndianMark) ? .utf16BigEndian : nil
    if let wanted, let found, wanted != found, wanted != .utf16 || found == .utf8 {
      throw failure(
        "the byte order mark of the text is that of \(found.rawValue), not of \(wanted.rawValue)",
        advice: "Leave --encoding out: the mark is enough.")
    }
    switch found ?? wanted ?? .utf8 {
    case .utf8: return nil
    case .utf16LittleEndian: return (UTF16Decoder(isBigEndian: false), found == nil ? 0 : 2)
    case .utf16BigEndian: return (UTF16Decoder(isBigEndian: true), found == nil ? 0 : 2)
    case .utf16:
      // In texts with a syntax, the first character is of ASCII almost always.
      let zero = start.prefix(2).firstIndex(of: 0)
      guard let zero else {
        guard !start.isEmpty else { return nil }
        throw failure(
          "the text has no byte order mark, and its first character does not tell the order of bytes",
          advice: "Choose --encoding utf-16le, which Windows writes, or utf-16be.")
      }
      return (UTF16Decoder(isBigEndian: zero == start.startIndex), 0)
    }
  }

  private static func failure(_ reason: String, advice: String) -> Failure {
    var failure = Failure(.badInput, code: "wrongEncoding", reason, advice: advice)
    failure.line = 1
    failure.column = 1
    return failure
  }
}

/// Converts UTF-16, which arrives in pieces of any length, into UTF-8.
struct UTF16Decoder {
  private let isBigEndian: Bool
  /// The first byte of a code unit whose second byte is in the next piece.
  private var half: UInt8?
  /// A high surrogate that waits for the low one.
  private var high: UInt16?
  /// The position of the next character; columns count Unicode scalars.
  private var line = 1
  private var column = 1

  init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

  /// Appends the text of the next bytes.
  mutating func decode(_ bytes: some Sequence<UInt8>, into text: inout [UInt8]) throws(Failure) {
    for byte in bytes {
      guard let first = half else {
        half = byte
        continue
      }
      half = nil
      let (upper, lower) = isBigEndian ? (first, byte) : (byte, first)
      try take(UInt16(upper) << 8 | UInt16(lower), into: &text)
    }
  }

  /// Throws if the text ends within a character.
  func end() throws(Failure) {
    if high != nil { throw unpaired() }
    guard half == nil else {
      throw failure("the text ends with half of a code unit: its length in bytes is odd")
    }
  }

  private mutating func take(_ unit: UInt16, into text: inout [UInt8]) throws(Failure) {
    var value = UInt32(unit)
    if let first = high {
      guard UTF16.isTrailSurrogate(unit) else { throw unpaired() }
      value = 0x10000 + (UInt32(first) & 0x3FF) << 10 + UInt32(unit) & 0x3FF
      high = nil
    } else if UTF16.isLeadSurrogate(unit) {
      high = unit
      return
    }
    guard let scalar = Unicode.Scalar(value) else { throw unpaired() }
    if scalar == "\n" { (line, column) = (line + 1, 1) } else { column += 1 }
    if scalar.isASCII { text.append(UInt8(value)) } else { text += UTF8.encode(scalar) ?? .init() }
  }

  private func unpaired() -> Failure { failure("half of a surrogate pair stands alone") }

  private func failure(_ reason: String) -> Failure {
    var failure = Failure(
      .badInput, code: "wrongEncoding", "this is not UTF-16: \(reason)",
      advice: "Check the file, or choose another --encoding.")
    failure.line = line
    failure.column = column
    return failure
  }
}
