/// A clock for measuring durations, which only goes forward.
package enum MonotonicClock {
  /// The number of nanoseconds since a moment that does not change while the machine runs.
  package static var nanoseconds: UInt64 { ThreadCalls.monotonicNanoseconds() }
}
