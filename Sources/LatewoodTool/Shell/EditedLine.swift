/// A line that is being edited: the text before and after the cursor. The cursor moves by
/// characters as people see them.
struct EditedLine: Equatable {
  /// The maximum length: enough for any command, while a file pasted by mistake cannot fill memory.
  static let longest = 64 << 10

  private(set) var before = ""
  private(set) var after = ""

  var text: String { before + after }
  var isEmpty: Bool { before.isEmpty && after.isEmpty }

  init(_ text: String = "") { before = text }

  /// Inserts text; returns false if the line would become too long.
  mutating func insert(_ text: String) -> Bool {
    guard before.utf8.count + after.utf8.count + text.utf8.count <= Self.longest else { return false }
    before += text
    return true
  }

  /// Replaces the last `count` characters before the cursor.
  mutating func replaceBefore(_ count: Int, with text: String) -> Bool {
    before.removeLast(min(count, before.count))
    return insert(text)
  }

  /// Applies a key; returns false if it has no meaning here.
  mutating func apply(_ key: TerminalKey) -> Bool {
    switch key {
    case .text(let text): return insert(text)
    case .left, .control("b"): return moveLeft()
    case .right, .control("f"): return moveRight()
    case .home, .control("a"):
      after = text
      before = ""
    case .end, .control("e"):
      before = text
      after = ""
    case .wordLeft: while moveLeft(), !isAtStartOfWord {}
    case .wordRight: while moveRight(), after.first != " " {}
    case .backspace, .control("h"):
      guard !before.isEmpty else { return false }
      before.removeLast()
    case .deleteForward, .control("d"):
      guard !after.isEmpty else { return false }
      after.removeFirst()
    case .control("k"): after = ""
    case .control("u"): before = ""
    case .control("w"):
      while before.last == " " { before.removeLast() }
      while let last = before.last, last != " " { before.removeLast() }
    default: return false
    }
    return true
  }

  private var isAtStartOfWord: Bool { before.last == " " && after.first != " " }

  private mutating func moveLeft() -> Bool {
    guard let last = before.popLast() else { return false }
    after = String(last) + after
    return true
  }

  private mutating func moveRight() -> Bool {
    guard !after.isEmpty else { return false }
    before.append(after.removeFirst())
    return true
  }
}
