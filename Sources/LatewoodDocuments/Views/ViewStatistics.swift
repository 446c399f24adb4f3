/// The sum, number, extremes and sum of squares of the values of rows.
public struct ViewStatistics: Sendable, Equatable {
  /// The sum of the values.
  public private(set) var sum = 0.0
  /// The number of values.
  public private(set) var count = 0
  /// The minimum; 0 without values.
  private var least = 0.0
  /// The maximum; 0 without values.
  private var greatest = 0.0
  /// The sum of the squares of the values.
  public private(set) var sumOfSquares = 0.0

  /// The minimum value; nil if there are none.
  public var min: Double? { count > 0 ? least : nil }
  /// The maximum value; nil if there are none.
  public var max: Double? { count > 0 ? greatest : nil }

  package init() {}

  /// Returns the stored form: `count varint`, then the other values in the order of their
  /// declaration, 8 bytes big-endian each.
  func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(varint: UInt64(count))
    for number in [sum, least, greatest, sumOfSquares] { bytes.append(bigEndian: number.bitPattern) }
    return bytes
  }

  init(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
    guard var source = UntrustedBytes(bytes, what: "a sum of a view") else {
      throw DatabaseError(.corruptData, "a sum of a view is empty")
    }
    let count = try source.varint()
    guard count > 0, count < 1 << 48 else { throw source.damaged("it counts \(count) values") }
    self.count = Int(count)
    sum = Double(bitPattern: try source.bigEndian())
    least = Double(bitPattern: try source.bigEndian())
    greatest = Double(bitPattern: try source.bigEndian())
    sumOfSquares = Double(bitPattern: try source.bigEndian())
    guard source.isAtEnd else { throw source.damaged("it is too long") }
  }

  package mutating func add(_ value: Double) {
    least = count == 0 ? value : Swift.min(least, value)
    greatest = count == 0 ? value : Swift.max(greatest, value)
    sum += value
    sumOfSquares += value * value
    count += 1
  }

  package mutating func add(_ other: ViewStatistics) {
    if other.count == 0 { return }
    least = count == 0 ? other.least : Swift.min(least, other.least)
    greatest = count == 0 ? other.greatest : Swift.max(greatest, other.greatest)
    sum += other.sum
    sumOfSquares += other.sumOfSquares
    count += other.count
  }
}
