/// What bounds the work that bytes from outside can ask for. The same for reading and writing: what
/// is written can be read.
package enum FleeceLimits {
  /// Levels of arrays and dictionaries inside each other.
  package static let depth = 512
  /// Levels that `Codable` types may encode or decode: they call each other, and each level costs
  /// stack.
  package static let codingDepth = 100
  /// Pointers to pointers that are followed for one value. A writer needs two, for a root that is
  /// far from the end.
  static let pointerHops = 4
  /// Dictionaries that inherit from each other.
  static let inheritance = 16
  /// Bytes of one encoded value. Pointers could reach twice as far.
  static let encodedLength = Int(Int32.max)

  /// The longest string that is written once and pointed at again.
  ///
  /// A pointer of two bytes stands for no more than this many, so what this module writes stays
  /// within `expansion`.
  static let sharedStringLength = 128
  /// How far back a string is pointed at again. Beyond it a new copy costs less than a wide
  /// collection.
  static let sharedStringReach = 60_000

  /// How much all values of `length` bytes may be when shared ones are counted each time, in bytes.
  ///
  /// Few bytes can stand for exponentially many values: arrays of pointers to one array, and so on.
  /// A walk ends here instead.
  package static func expansion(ofLength length: Int) -> Int {
    let (product, overflow) = length.multipliedReportingOverflow(by: 256)
    return overflow
      ? Int.max : product.addingReportingOverflow(1 << 20).overflow ? Int.max : product + 1 << 20
  }
}
