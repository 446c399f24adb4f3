import LatewoodConcurrency

/// Turns at writing frames, or at syncing, which one thread at a time does for all waiting threads.
///
/// ```
///            begin                               end
/// turn n     | covers bytes before `through`     |     wakes all that wait for n, and one that
///                                                      waits for n + 1, to lead it, unless the
///                                                      same thread leads on
/// ```
///
/// Invariants (all calls with the flush's monitor held):
/// 1. Turns do not overlap.
/// 2. Each thread waits for the first turn that can cover its target: the running one or the next.
///    It is woken when that turn ends and not before, except the thread that leads it.
/// 3. A thread that was woken to lead but gives up calls `wakeAll`, so that another one leads.
struct FlushTurns {
  private(set) var isTaken = false
  /// The number of turns begun, which is also the number of the running turn, or of the last one.
  private(set) var begun: UInt64 = 0
  /// The number of the last turn whose work succeeded.
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
  ///   - isDone: whether the turn's work succeeded.
  ///   - isLast: whether all threads that wait for the next turn must check the state again.
  ///   - isFollowed: whether the caller itself begins the next turn, so that no thread is woken to
  ///     lead it.
  mutating func end(isDone: Bool, isLast: Bool, isFollowed: Bool = false) {
    isTaken = false
    if isDone { done = begun }
    ended(begun).broadcast()
    if isLast {
      ended(begun + 1).broadcast()
    } else if !isFollowed {
      ended(begun + 1).signal()
    }
  }

  /// The condition to wait for, while a turn runs, until everything before `target` is done.
  func ended(covering target: UInt64) -> Monitor.Condition { ended(target <= through ? begun : begun + 1) }

  /// The condition that signals the end of a turn, the running one or the next.
  func ended(_ number: UInt64) -> Monitor.Condition { number & 1 == 0 ? even : odd }

  func wakeAll() {
    even.broadcast()
    odd.broadcast()
  }
}
