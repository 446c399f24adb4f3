/// The bytes by which a background task is behind the writers, and the price that a writer pays for
/// them.
///
/// ```
/// bytes   |......... free .........|........ headroom ........|
/// price          none              | grows without a bound    | 1 µs a byte
/// ```
///
/// The price is limited, so that writers are never stopped completely: the lagging task may itself
/// wait for a writer, such as a thread used by a compaction's closure.
struct Backlog: Equatable {
  /// The number of waiting bytes of log.
  var bytes: UInt64
  /// The number of bytes that may wait without any cost.
  var free: UInt64
  /// The number of further bytes at which writers are slowed down to one MiB per second.
  var headroom: UInt64

  /// The price of each byte committed now, in nanoseconds. In the middle of the headroom it is 10,
  /// which is 100 MB per second.
  var price: Double {
    guard bytes > free else { return 0 }
    let fullness = Double(bytes - free) / Double(max(headroom, 1))
    return fullness < 1 ? min(10 * fullness / (1 - fullness), Backlog.highestPrice) : Backlog.highestPrice
  }

  static let highestPrice = 1e9 / Double(1 << 20)
}
