import LatewoodConcurrency

/// A failed expectation on a thread where `#expect` cannot be used.
struct Wrong: Error {
  let what: String
  init(_ what: String) { self.what = what }
}

/// A counter for threads that work until others are done.
final class Countdown: Sendable {
  private let rest: Guarded<Int>
  init(_ count: Int) { rest = Guarded(count) }
  func oneIsDone() { rest.withLock { $0 -= 1 } }
  var isOver: Bool { rest.withLock { $0 <= 0 } }
}
