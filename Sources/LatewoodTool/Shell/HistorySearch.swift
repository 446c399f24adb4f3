/// A search for earlier lines (ctrl-R): each letter narrows it, and ctrl-R again finds an older
/// line.
struct HistorySearch: Equatable {
  enum Step: Equatable {
    /// The search continues, with or without a line.
    case found, failed
    /// The line before the search is wanted back.
    case cancelled
    /// The key ends the search, and has its usual effect on the line.
    case passed
  }

  let original: String
  private(set) var text = ""
  private(set) var found: String?
  /// The index of the found line.
  private var position: Int?

  init(original: String) { self.original = original }

  mutating func take(_ key: TerminalKey, in history: ShellHistory) -> Step {
    switch key {
    case .text(let more):
      text += more
      return find(in: history, before: position.map { $0 + 1 })
    case .backspace, .control("h"):
      guard !text.isEmpty else { return .failed }
      text.removeLast()
      return find(in: history, before: nil)
    case .control("r"): return text.isEmpty ? .failed : find(in: history, before: position)
    case .control("g"), .control("c"): return .cancelled
    default: return .passed
    }
  }

  private mutating func find(in history: ShellHistory, before end: Int?) -> Step {
    guard !text.isEmpty, let place = history.lastLine(with: text, before: end) else {
      if text.isEmpty { (found, position) = (nil, nil) }
      return text.isEmpty ? .found : .failed
    }
    (found, position) = (history.lines[place], place)
    return .found
  }
}
