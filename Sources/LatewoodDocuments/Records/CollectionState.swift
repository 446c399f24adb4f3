/// What a collection knows of itself: written once for each batch that changes it.
///
/// In the keyspace of the database under `collection/` and the name: `format 1 byte`, the identity,
/// then the numbers as varints, in the order in which they are declared.
struct CollectionState: Sendable, Equatable {
  static let format: UInt8 = 1
  static let keyPrefix = "collection/"
  static func key(_ name: String) -> String { keyPrefix + name }

  let identity: CollectionIdentity
  /// The last sequence that was given out. No sequence is given out twice, whatever is purged.
  var lastSequence: UInt64 = 0
  /// Documents that are not deleted.
  var documents: UInt64 = 0
  /// Documents whose winner is a tombstone.
  var tombstones: UInt64 = 0
  /// Bodies that are kept, and their bytes.
  var bodies: UInt64 = 0
  var bodyBytes: UInt64 = 0
  /// Bodies of them that are no leaf's.
  var superseded: UInt64 = 0
  /// Pairs of a body and a blob that it refers to.
  var references: UInt64 = 0
  /// Indexes, those among them that are being built.
  var indexes: UInt64 = 0
  /// How often an index was created, made ready or dropped; also the number that was given to an
  /// index last.
  var indexChanges: UInt64 = 0

  private var numbers: [UInt64] {
    [
      lastSequence, documents, tombstones, bodies, bodyBytes, superseded, references, indexes, indexChanges,
    ]
  }

  /// Bytes that a sweep would free, about.
  var reclaimableBytes: UInt64 {
    guard bodies > 0 else { return 0 }
    return UInt64(Double(bodyBytes) * (Double(min(superseded, bodies)) / Double(bodies)))
  }

  func encoded() -> [UInt8] {
    var bytes = [CollectionState.format] + identity.bytes
    for number in numbers { bytes.append(varint: number) }
    return bytes
  }

  /// Of a collection that is empty.
  init(_ identity: CollectionIdentity) { self.identity = identity }

  init(_ bytes: UnsafeRawBufferPointer) throws(DocumentError) {
    guard var source = HostileBytes(bytes, what: "the state of a collection") else {
      throw DocumentError(.corruptData, "the state of a collection is empty")
    }
    let format = try source.byte()
    guard format == CollectionState.format else {
      throw DocumentError(.tooNew, "the state of a collection has the format \(format)")
    }
    identity = try CollectionIdentity(reading: &source)
    lastSequence = try source.varint()
    documents = try source.varint()
    tombstones = try source.varint()
    bodies = try source.varint()
    bodyBytes = try source.varint()
    superseded = try source.varint()
    references = try source.varint()
    indexes = try source.varint()
    indexChanges = try source.varint()
    guard source.isAtEnd else { throw source.fault("it is too long") }
    // What follows may count on from any of these without a look.
    for number in numbers {
      guard number < 1 << 62 else { throw source.fault("it counts \(number)") }
    }
  }
}
