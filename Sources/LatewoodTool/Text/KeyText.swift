/// Reads keys from the command line and shows them to people: as text if they are readable, else in
/// hexadecimal.
///
/// The two directions match: `bytes` reads the output of `shown` back as the same key. So text that
/// itself starts with `0x` is shown in hexadecimal.
enum KeyText {
  static let hexMark = "0x"

  static func shown(_ bytes: some Collection<UInt8>) -> String {
    readableText(bytes) ?? hexMark + Hex.encode(bytes)
  }

  /// Returns the text in `bytes`; nil if it is not UTF-8, has invisible characters, or starts like
  /// hexadecimal.
  static func readableText(_ bytes: some Collection<UInt8>) -> String? {
    guard let text = String(validating: bytes, as: UTF8.self), !text.hasPrefix(hexMark),
      text.unicodeScalars.allSatisfy(isVisible)
    else { return nil }
    return text
  }

  /// Returns the key for a command-line argument.
  static func bytes(_ argument: [UInt8]) throws -> [UInt8] {
    guard argument.starts(with: hexMark.utf8) else { return argument }
    guard let bytes = Hex.decode(argument.dropFirst(hexMark.utf8.count)) else {
      throw Failure.usage(
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
