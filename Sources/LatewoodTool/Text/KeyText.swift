/// How keys are read from the command line and shown to people: as text where they are readable
/// text, else in hexadecimal.
///
/// The two directions fit: what `shown` prints, `bytes` reads back as the same key. Text that
/// itself starts with `0x` is therefore shown in hexadecimal.
enum KeyText {
  static let hexMark = "0x"

  static func shown(_ bytes: some Collection<UInt8>) -> String {
    readableText(bytes) ?? hexMark + Hex.encode(bytes)
  }

  /// The text in `bytes`; nil if it is not UTF-8, has characters that would not be seen, or starts
  /// like hexadecimal.
  static func readableText(_ bytes: some Collection<UInt8>) -> String? {
    guard let text = String(validating: bytes, as: UTF8.self), !text.hasPrefix(hexMark),
      text.unicodeScalars.allSatisfy(isVisible)
    else { return nil }
    return text
  }

  /// The key that an argument of the command line means.
  static func bytes(_ argument: [UInt8]) throws(Failure) -> [UInt8] {
    guard argument.starts(with: hexMark.utf8) else { return argument }
    guard let bytes = Hex.decode(argument.dropFirst(hexMark.utf8.count)) else {
      throw .usage(
        "\(Arguments.quoted(argument)) starts with 0x but is not a sequence of bytes in hexadecimal",
        advice: "Give two digits for each byte; text that starts with 0x is written 0x3078 and so on.")
    }
    return bytes
  }

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
    default: true
    }
  }
}
