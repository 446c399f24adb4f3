/// The identity of a collection: 16 random bytes, chosen when it is created and kept with its
/// state. They distinguish it from all other collections, including a later one of the same name.
package struct CollectionIdentity: Sendable, Hashable {
  private let high, low: UInt64

  static let length = 16

  init(random: () -> UInt64) { (high, low) = (random(), random()) }

  /// Reads the first 16 bytes of the state of a collection.
  init(reading source: inout UntrustedBytes) throws(DatabaseError) {
    (high, low) = (try source.bigEndian(), try source.bigEndian())
  }

  /// The 16 bytes in stored form.
  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return bytes
  }

  /// Appends the 16 bytes in stored form.
  func append(to bytes: inout [UInt8]) {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { bytes.append(contentsOf: $0) }
  }
}
