import Dispatch
import LatewoodConcurrency

/// Items that wait in line for one worker. The worker starts when the first item is added and ends
/// when the line is empty.
///
/// One thread works on the items, regardless of their number.
final class SerialWorkQueue<Item: Sendable>: Sendable {
  private struct State {
    /// The items; those before `next` have been taken.
    var items: [Item] = []
    var next = 0
    var isWorking = false
  }
  private let state = Guarded(State())
  private let queue: DispatchQueue

  init(label: String) { queue = DispatchQueue(label: label, qos: .userInitiated) }

  /// The number of waiting items.
  var count: Int { state.withLock { $0.items.count - $0.next } }

  /// - Parameter work: takes one or more of the waiting items. Must be the same for all items.
  func add(_ items: [Item], _ work: @escaping @Sendable () -> Void) {
    let isFirst = state.withLock { state in
      state.items += items
      defer { state.isWorking = true }
      return !state.isWorking
    }
    guard isFirst else { return }
    queue.async { while self.hasWork() { work() } }
  }

  /// Returns whether an item is waiting. If not, the worker ends.
  private func hasWork() -> Bool {
    state.withLock { state in
      state.isWorking = state.next < state.items.count
      return state.isWorking
    }
  }

  /// Removes and returns the oldest item.
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
