/// What tells a collection from all others, also from a later one of the same name: 16 random
/// bytes, given when it is made and kept with its state.
package struct CollectionIdentity: Sendable, Hashable {
  private let high, low: UInt64

  static let length = 16

  init(random: () -> UInt64) { (high, low) = (random(), random()) }

  /// Of the first 16 bytes of the state of a collection.
  init(reading source: inout HostileBytes) throws(DocumentError) {
    (high, low) = (try source.bigEndian(), try source.bigEndian())
  }

  /// 16 of them.
  package var bytes: [UInt8] { SequenceEntry.key(high) + SequenceEntry.key(low) }
}
