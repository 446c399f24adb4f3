import LatewoodDevice

/// Turns at a kind of work that one thread at a time does for all who wait: to write frames, or to
/// sync.
///
/// ```
///            begin                               end
/// turn n     | covers what lies before `through` |        wakes all who wait for n, and one who waits for n + 1: it leads that
/// ```
///
/// Invariants (all of it with the monitor of the flush held):
/// 1. Turns do not overlap.
/// 2. Each thread waits for the first turn that can cover what it needs: the one that runs, or the
///    next. It is woken when that turn ends, and not before, but for the one who leads.
/// 3. Whoever was woken to lead and gives up instead calls `wakeAll`, so that another one leads.
struct FlushTurns {
  private(set) var isTaken = false
  /// How many have begun; the number of the one that runs, or of the last one.
  private(set) var begun: UInt64 = 0
  /// The number of the last one whose work was done.
  private(set) var done: UInt64 = 0
  private var through: UInt64 = 0
  private let even: Monitor.Condition
  private let odd: Monitor.Condition

  init(under monitor: Monitor) {
    even = Monitor.Condition(of: monitor)
    odd = Monitor.Condition(of: monitor)
  }

  mutating func begin(through: UInt64) {
    precondition(!isTaken, "turns overlap")
    isTaken = true
    begun += 1
    self.through = through
  }

  /// - Parameters:
  ///   - isDone: its work was done.
  ///   - isLast: those who wait for the next turn have to think again.
  mutating func end(isDone: Bool, isLast: Bool) {
    isTaken = false
    if isDone { done = begun }
    ended(begun).broadcast()
    if isLast { ended(begun + 1).broadcast() } else { ended(begun + 1).signal() }
  }

  /// What to wait for while a turn runs, by one who needs everything before `target`.
  func ended(covering target: UInt64) -> Monitor.Condition { ended(target <= through ? begun : begun + 1) }

  /// The end of the turn with this number: the one that runs, or the next.
  func ended(_ number: UInt64) -> Monitor.Condition { number & 1 == 0 ? even : odd }

  func wakeAll() {
    even.broadcast()
    odd.broadcast()
  }
}
