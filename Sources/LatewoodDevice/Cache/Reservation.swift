/// The number of addresses to reserve for a growing file.
package enum Reservation {
  /// The minimum capacity for a file, in bytes. Capacities are multiples of `step`.
  package static let least: UInt64 = 1 << 20
  private static let step: UInt64 = 64 << 10
  /// The maximum length of a file on ext4. Current processes have addresses for eight such files.
  private static let limit: UInt64 = 1 << 44

  /// Returns the capacities to try in turn until the system grants one: first one that lets the
  /// file grow by a quarter, then the minimum that suffices. Empty if the file is longer than 16
  /// TiB.
  ///
  /// - Parameters:
  ///   - end: the number of bytes of the file that must be covered.
  ///   - ahead: the number of bytes after the end that must also be covered.
  ///   - isRepeated: whether the file has outgrown a range that it keeps. If so, the first capacity
  ///     is a power of two, so that all older ranges together take no more addresses than the
  ///     newest.
  package static func capacities(
    covering end: UInt64, ahead: UInt64 = 0, isRepeated: Bool = false
  ) -> [UInt64] {
    guard end < limit, ahead < limit else { return [] }
    let needed = end + ahead
    let wanted = max(needed + needed / 4, least)
    let power = UInt64(1) << UInt64(UInt64.bitWidth - (wanted - 1).leadingZeroBitCount)
    let rounded = [wanted, needed].map { max(step, ($0 + step - 1) & ~(step - 1)) }
    return isRepeated ? [power] + rounded.filter { $0 < power } : rounded
  }
}
