import LatewoodConcurrency
import LatewoodTerminal

/// A progress line for long work on a terminal. Prints nothing elsewhere, nor during the first
/// quarter of a second.
final class Progress {
  private let console: Console
  private let verb: String
  private var nextTime: UInt64
  private var isShown = false

  /// - Parameter verb: the activity, such as `Verifying`.
  /// - Parameter delay: the time before the line appears, in nanoseconds.
  init(_ verb: String, on console: Console, delay: UInt64 = 250_000_000) {
    self.console = console
    self.verb = verb
    nextTime = MonotonicClock.nanoseconds &+ delay
  }

  /// - Parameter total: 0 if it is not known.
  func update(_ done: UInt64, of total: UInt64, unit: (UInt64) -> String) throws {
    guard console.isErrorTerminal else { return }
    let now = MonotonicClock.nanoseconds
    guard now >= nextTime else { return }
    nextTime = now &+ 100_000_000
    var text = "\(verb) … \(unit(done))"
    if total > 0 { text += " of \(unit(total)), \(Quantity.share(done, of: total))" }
    TerminationSignals.wipesLine(true)
    try console.error.control("\r\u{1B}[K" + DisplayWidth.fitted(text, to: console.errorWidth - 1))
    try console.error.flush()
    isShown = true
  }

  /// Erases the line.
  func finish() throws {
    guard isShown else { return }
    isShown = false
    try console.error.control("\r\u{1B}[K")
    try console.error.flush()
    TerminationSignals.wipesLine(false)
  }
}
