/// The clock and the random numbers of the engine, injected so that tests are repeatable.
package struct Environment: Sendable {
  /// Returns the time, in microseconds since 1970-01-01 00:00 UTC.
  package var now: @Sendable () -> UInt64
  /// Returns a random number. In a program nobody can predict it, because the keys, salts and
  /// epochs of encrypted files are made of such numbers.
  package var random: @Sendable () -> UInt64

  package init(now: @escaping @Sendable () -> UInt64, random: @escaping @Sendable () -> UInt64) {
    self.now = now
    self.random = random
  }

  /// The clock and the randomness of the machine.
  package static let system = Environment(
    now: { ThreadCalls.wallMicroseconds() },
    random: {
      var generator = SystemRandomNumberGenerator()
      return generator.next()
    })
}
