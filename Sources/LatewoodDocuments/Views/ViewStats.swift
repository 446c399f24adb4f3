/// What the values of rows add up to.
package struct ViewStats: Sendable, Equatable {
  package var sum = 0.0
  package var count = 0
  /// The least value; 0 if there are none.
  package var least = 0.0
  /// The greatest value; 0 if there are none.
  package var greatest = 0.0
  package var sumOfSquares = 0.0

  package init() {}

  package mutating func add(_ value: Double) {
    least = count == 0 ? value : min(least, value)
    greatest = count == 0 ? value : max(greatest, value)
    sum += value
    sumOfSquares += value * value
    count += 1
  }

  package mutating func add(_ other: ViewStats) {
    if other.count == 0 { return }
    least = count == 0 ? other.least : min(least, other.least)
    greatest = count == 0 ? other.greatest : max(greatest, other.greatest)
    sum += other.sum
    sumOfSquares += other.sumOfSquares
    count += other.count
  }
}
