/// What the engine takes from the machine beside its files, injected so that tests are repeatable.
package struct Environment: Sendable {
  /// Microseconds since 1970-01-01 00:00 UTC.
  package var now: @Sendable () -> UInt64
  package var random: @Sendable () -> UInt64

  package init(now: @escaping @Sendable () -> UInt64, random: @escaping @Sendable () -> UInt64) {
    self.now = now
    self.random = random
  }

  /// The clock and the randomness of the machine.
  package static let system = Environment(
    now: { SystemCalls.wallMicroseconds() },
    random: {
      var generator = SystemRandomNumberGenerator()
      return generator.next()
    })
}

/// A clock for measuring: it only goes forward.
package enum MonotonicClock {
  /// Since a moment that does not change while the machine runs.
  package static var nanoseconds: UInt64 { SystemCalls.monotonicNanoseconds() }
}
