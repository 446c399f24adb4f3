/// Limits on the work that bytes from outside can cause. They are the same for reading and writing,
/// so that everything written can be read.
package enum FleeceLimits {
  /// The greatest depth of nested arrays and dictionaries.
  package static let depth = 512
  /// The greatest depth that `Codable` types may encode or decode: their calls are recursive, and
  /// each level costs stack.
  package static let codingDepth = 100
  /// The greatest depth of their calls, several of which may be about one value: an optional, or a
  /// type that encodes as its only member.
  static let codingCalls = 2 * codingDepth
  /// The maximum number of pointers to pointers to follow for one value. A writer needs two, for a
  /// root that is far from the end.
  static let pointerHops = 4
  /// The maximum number of dictionaries in a chain of inheritance.
  static let inheritance = 16
  /// The greatest length of an encoded value in bytes. Pointers could reach twice as far.
  static let encodedLength = Int(Int32.max)

  /// The length up to which a repeated string is written once and pointed at again.
  ///
  /// A pointer of two bytes then represents at most this many bytes, so that the output of this
  /// module stays within `expansion`.
  static let sharedStringLength = 128
  /// The greatest distance of such a pointer. Beyond it, a new copy is cheaper than a wide
  /// collection.
  static let sharedStringReach = 60_000

  /// Returns the maximum total size of all values in `length` bytes, counting shared values each
  /// time.
  ///
  /// A few bytes can represent exponentially many values, such as nested arrays of pointers to one
  /// array. A walk ends at this limit.
  package static func expansion(ofLength length: Int) -> Int {
    let (product, overflow) = length.multipliedReportingOverflow(by: 256)
    return overflow
      ? Int.max : product.addingReportingOverflow(1 << 20).overflow ? Int.max : product + 1 << 20
  }
}
