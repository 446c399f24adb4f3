import Dispatch
import LatewoodDevice

/// Items that wait in line for one worker, which starts when the first comes, takes what it can at
/// a time, and ends when none is left.
///
/// However many wait, one thread works.
final class WorkLine<Item: Sendable>: Sendable {
  private struct State {
    /// Those before `next` have been taken.
    var items: [Item] = []
    var next = 0
    var isWorking = false
  }
  private let state = Guarded(State())
  private let queue: DispatchQueue

  init(label: String) { queue = DispatchQueue(label: label, qos: .userInitiated) }

  /// How many wait.
  var count: Int { state.withLock { $0.items.count - $0.next } }

  /// - Parameter work: takes one of those that wait or more. The same for all items.
  func add(_ items: [Item], _ work: @escaping @Sendable () -> Void) {
    let isFirst = state.withLock { state in
      state.items += items
      defer { state.isWorking = true }
      return !state.isWorking
    }
    guard isFirst else { return }
    queue.async { while self.hasWork() { work() } }
  }

  /// Whether somebody waits. If not, the worker ends.
  private func hasWork() -> Bool {
    state.withLock { state in
      state.isWorking = state.next < state.items.count
      return state.isWorking
    }
  }

  /// The one that has waited longest.
  func takeFirst() -> Item? {
    state.withLock { state in
      guard state.next < state.items.count else { return nil }
      defer {
        state.next += 1
        if state.next == state.items.count {
          state.items.removeAll(keepingCapacity: state.next <= 1024)
          state.next = 0
        }
      }
      return state.items[state.next]
    }
  }

  func takeAll() -> [Item] {
    state.withLock { state in
      defer {
        state.items = []
        state.next = 0
      }
      return Array(state.items[state.next...])
    }
  }
}
