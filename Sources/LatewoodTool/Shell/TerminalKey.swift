/// A pressed key, or its character.
enum TerminalKey: Equatable {
  case text(String)
  case enter, tab, backspace, deleteForward
  case left, right, up, down, home, end, wordLeft, wordRight
  /// A letter together with Ctrl.
  case control(Character)
}

/// Decodes keys from the bytes of a terminal: characters in UTF-8, control characters, and the
/// sequences after ESC that xterm and the like send for other keys (ECMA-48, section 5.4).
struct TerminalKeys {
  private var pending: [UInt8] = []

  /// The maximum length of a valid sequence.
  private static let longestSequence = 32

  mutating func add(_ bytes: [UInt8]) { pending += bytes }

  /// Returns the next key; nil if more bytes are needed. Skips bytes that are not a key.
  mutating func next() -> TerminalKey? {
    while let first = pending.first {
      let (key, length) =
        first == 0x1B ? sequence() : first < 0x20 || first == 0x7F ? control(first) : character()
      // Without a length, the bytes are the beginning of a sequence.
      guard let length else { return nil }
      pending.removeFirst(min(length, pending.count))
      if let key { return key }
    }
    return nil
  }

  private func control(_ byte: UInt8) -> (TerminalKey?, Int?) {
    switch byte {
    case 0x0D, 0x0A: (.enter, 1)
    case 0x09: (.tab, 1)
    case 0x7F, 0x08: (.backspace, 1)
    default: (.control(Character(Unicode.Scalar(byte | 0x60))), 1)
    }
  }

  private func character() -> (TerminalKey?, Int?) {
    let length =
      switch pending[0] {
      case ..<0x80: 1
      case 0xC2...0xDF: 2
      case 0xE0...0xEF: 3
      case 0xF0...0xF4: 4
      default: 0
      }
    // A byte that cannot begin a character is dropped.
    guard length > 0 else { return (nil, 1) }
    for place in 1..<max(length, 1) {
      guard place < pending.count else { return (nil, nil) }
      // An incomplete character is followed by another key.
      guard pending[place] & 0xC0 == 0x80 else { return (nil, place) }
    }
    return (String(validating: pending[..<length], as: UTF8.self).map { .text($0) }, length)
  }

  private func sequence() -> (TerminalKey?, Int?) {
    guard pending.count > 1 else { return (nil, nil) }
    switch pending[1] {
    case UInt8(ascii: "b"): return (.wordLeft, 2)
    case UInt8(ascii: "f"): return (.wordRight, 2)
    case UInt8(ascii: "["), UInt8(ascii: "O"): break
    // Two ESC in a row: the first was a separate key.
    case 0x1B: return (nil, 1)
    default: return (nil, 2)
    }
    guard let end = pending[2...].firstIndex(where: { (0x40...0x7E).contains($0) || $0 < 0x20 }) else {
      return (nil, pending.count > Self.longestSequence ? pending.count : nil)
    }
    guard pending[end] >= 0x20 else { return (nil, end) }
    let parameters = String(decoding: pending[2..<end], as: UTF8.self)
    let withModifier = parameters.hasSuffix(";5") || parameters.hasSuffix(";3")
    let key: TerminalKey? =
      switch pending[end] {
      case UInt8(ascii: "A"): .up
      case UInt8(ascii: "B"): .down
      case UInt8(ascii: "C"): withModifier ? .wordRight : .right
      case UInt8(ascii: "D"): withModifier ? .wordLeft : .left
      case UInt8(ascii: "H"): .home
      case UInt8(ascii: "F"): .end
      case UInt8(ascii: "~"):
        switch parameters {
        case "1", "7": .home
        case "4", "8": .end
        case "3": .deleteForward
        default: nil
        }
      default: nil
      }
    return (key, end + 1)
  }
}
