import LatewoodBytes
import LatewoodTerminal

/// Reads lines from a person at a terminal, with editing, history and completion.
final class LineReader {
  enum Outcome: Equatable {
    case line(String)
    /// The user cancelled the line.
    case cancelled
    case end
  }

  private let console: Console
  private var keys = TerminalKeys()
  private var view: LineView
  private let prompt: String
  /// The prompt for the further lines of a statement.
  private let furtherPrompt: String
  private let completion: ShellCompletion
  private var line = EditedLine()
  private var hasJustListed = false
  /// The statement whose further lines are read.
  private var statement: ShellStatement?
  private var search: HistorySearch?

  init(_ console: Console, prompt: String, completion: ShellCompletion) {
    self.console = console
    self.completion = completion
    self.prompt = prompt
    furtherPrompt = DisplayWidth.padded("...> ", to: DisplayWidth.of(prompt), right: true)
    view = LineView(prompt: prompt, style: console.style)
  }

  /// Reads a line. The mode of the terminal is restored when this returns or throws.
  ///
  /// - Parameter statement: the unfinished statement that the line continues.
  func read(_ history: inout ShellHistory, continuing statement: ShellStatement? = nil) throws -> Outcome {
    self.statement = statement
    search = nil
    showPrompt()
    let terminal = try RawTerminal()
    defer { terminal.restore() }
    line = EditedLine()
    history.leave()
    while true {
      while let key = keys.next() {
        if let outcome = try take(key, &history) {
          try console.output.write("\n")
          try console.flush()
          return outcome
        }
      }
      try draw()
      let bytes = try console.readInput()
      // The terminal has disappeared.
      if bytes.isEmpty { return .end }
      keys.add(bytes)
    }
  }

  private func take(_ key: TerminalKey, _ history: inout ShellHistory) throws -> Outcome? {
    defer { if key != .tab { hasJustListed = false } }
    if var search {
      let step = search.take(key, in: history)
      self.search = step == .passed ? nil : search
      if let found = search.found, step != .cancelled { line = EditedLine(found) }
      if step == .cancelled {
        line = EditedLine(search.original)
        self.search = nil
      }
      showPrompt()
      if step != .passed {
        if step == .failed { try console.output.control("\u{07}") }
        return nil
      }
    }
    switch key {
    case .control("r"):
      search = HistorySearch(original: line.text)
      showPrompt()
    case .enter:
      try draw()
      return .line(line.text)
    case .control("c"):
      try draw()
      try console.output.write("^C")
      return .cancelled
    case .control("d") where line.isEmpty: return .end
    case .control("l"): try console.output.control("\u{1B}[H\u{1B}[2J")
    case .up, .control("p"): if let text = history.earlier(than: line.text) { line = EditedLine(text) }
    case .down, .control("n"): if let text = history.later() { line = EditedLine(text) }
    case .tab: try complete()
    default: if !line.apply(key) { try console.output.control("\u{07}") }
    }
    return nil
  }

  /// Shows the text that is searched for, or the prompt.
  private func showPrompt() {
    view.prompt = search.map { "(search: \($0.text)) " } ?? (statement == nil ? prompt : furtherPrompt)
  }

  private func complete() throws {
    switch completion.complete(line.before, in: statement) {
    case .replace(let count, let text): _ = line.replaceBefore(count, with: text)
    case .choose(let words):
      guard hasJustListed else {
        hasJustListed = true
        return try console.output.control("\u{07}")
      }
      try draw()
      try console.output.write("\n" + Self.columns(words, in: width))
    case .nothing: try console.output.control("\u{07}")
    }
  }

  private var width: Int { max(console.output.terminalWidth ?? 80, 20) }

  private func draw() throws {
    try console.output.control(view.drawn(line, in: width))
    try console.flush()
  }

  /// Arranges words in columns of equal width; at most as many as fit on a screen.
  static func columns(_ words: [String], in width: Int) -> String {
    let limit = 200
    let shown = words.prefix(limit).map { DisplayWidth.fitted(KeyText.shown($0.utf8), to: width - 1) }
    let column = (shown.map { DisplayWidth.of($0) }.max() ?? 0) + 2
    let perRow = max(1, (width - 1) / column)
    var text = ""
    for (place, word) in shown.enumerated() {
      let endsRow = place % perRow == perRow - 1 || place == shown.count - 1
      text += endsRow ? word + "\n" : DisplayWidth.padded(word, to: column)
    }
    return words.count > limit ? text + "and \(words.count - limit) more\n" : text
  }
}
