import Dispatch
import LatewoodDevice

/// The feed of a collection that goes on: the changes since a sequence, and then each one as it is
/// committed.
///
/// What is given out is always read from the collection, after the last sequence that was given
/// out; observers only say when it is worth looking. So nothing is missed or told twice, also not
/// between what was there at the start and what came after. A document that changes faster than the
/// feed is read is told of at its latest change.
///
/// It ends when its task is cancelled, or with an error when the database is closed or the
/// collection dropped.
package struct LiveChanges: AsyncSequence, Sendable {
  package typealias Element = SequenceEntry

  let store: DocumentStore
  let collection: DocumentCollection
  let since: UInt64

  package func makeAsyncIterator() -> Iterator {
    Iterator(store: store, collection: collection, last: since)
  }

  package struct Iterator: AsyncIteratorProtocol {
    private static let pageSize = 256
    private let store: DocumentStore
    private let collection: DocumentCollection
    private var last: UInt64
    private var page: [SequenceEntry] = []
    private var place = 0
    private var bell: FeedBell?

    init(store: DocumentStore, collection: DocumentCollection, last: UInt64) {
      self.store = store
      self.collection = collection
      self.last = last
    }

    package mutating func next() async throws -> SequenceEntry? {
      while true {
        if place < page.count {
          defer { place += 1 }
          last = page[place].sequence
          return page[place]
        }
        if Task.isCancelled { return nil }
        // First the bell, then the look: what is committed between the two rings it.
        let bell = try self.bell ?? FeedBell(store, collection.name)
        self.bell = bell
        bell.mute()
        page = try store.reads(collection).changes(since: last, limit: Self.pageSize)
        place = 0
        if page.isEmpty, await !bell.heard() { return nil }
      }
    }
  }
}

/// Wakes one waiting task when a collection changes.
private final class FeedBell: Sendable {
  private enum State {
    case silent
    case rung
    case awaited(CheckedContinuation<Bool, Never>)
    case cancelled
  }

  private let state = Guarded(State.silent)
  private let token: Guarded<ObserverToken?> = Guarded(nil)

  init(_ store: DocumentStore, _ collection: String) throws(DocumentError) {
    let queue = DispatchQueue(label: "latewood.feed")
    let token = try store.observe(collection: collection, on: queue) { [weak self] _ in self?.ring() }
    self.token.withLock { $0 = token }
  }

  deinit { token.withLock { $0 }?.cancel() }

  func mute() {
    state.withLock { state in
      if case .rung = state { state = .silent }
    }
  }

  private func ring() { wake(.rung, true) }

  private func wake(_ next: State, _ answer: Bool) {
    let waiting = state.withLock { state -> CheckedContinuation<Bool, Never>? in
      if case .cancelled = state { return nil }
      if case .awaited(let continuation) = state {
        state = if case .cancelled = next { .cancelled } else { .silent }
        return continuation
      }
      state = next
      return nil
    }
    waiting?.resume(returning: answer)
  }

  /// Waits until it rings; false if the task is cancelled.
  func heard() async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = state.withLock { state -> Bool? in
          switch state {
          case .rung:
            state = .silent
            return true
          case .cancelled: return false
          case .silent, .awaited:
            state = .awaited(continuation)
            return nil
          }
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      wake(.cancelled, false)
    }
  }
}

extension DocumentStore {
  /// The changes of a collection since a sequence, and on from there as they come.
  package func liveChanges(of collection: DocumentCollection, since: UInt64 = 0) -> LiveChanges {
    LiveChanges(store: self, collection: collection, since: since)
  }
}
