import LatewoodConcurrency

/// A pin on the memory that a cache provides, for longer than a single call.
///
/// While it is active, everything that was in memory when it was created, or is read later, stays
/// in memory. Therefore long-lived pins should be paused from time to time, especially while
/// running code that may take long.
///
/// Thread safety: one thread at a time.
package final class CachePin {
  private let cache: PageCache
  private var ticket: ReaderRegistry.Ticket
  private var isPaused = false

  init(_ cache: PageCache) {
    self.cache = cache
    ticket = cache.enter()
  }

  deinit { if !isPaused { ticket.leave() } }

  /// Deactivates the pin until `resume`.
  package func pause() {
    ticket.leave()
    isPaused = true
  }

  /// Reactivates the pin. Returns true if memory may have been evicted in the meantime: then every
  /// address must be requested again.
  package func resume() -> Bool {
    let last = ticket
    ticket = cache.enter()
    isPaused = false
    return !cache.pinned.isCurrent(last)
  }
}
