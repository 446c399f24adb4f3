/// The stored state of a collection: identity and counters, written once by each batch that changes
/// it.
///
/// The record is kept in the keyspace of the database under `collection/` and the name:
/// `format 1 byte`, the identity, then the numbers as varints, in the order of their declaration.
/// The number of views is stored only if there are any; the format is then 2, which programs that
/// do not keep views refuse. The number of full-text indexes follows only if there are any; the
/// format is then 3.
struct CollectionState: Sendable, Equatable {
  static let format: UInt8 = 1
  static let formatWithViews: UInt8 = 2
  static let formatWithTexts: UInt8 = 3
  static let keyPrefix = "collection/"
  static func key(_ name: String) -> String { keyPrefix + name }

  let identity: CollectionIdentity
  /// The last sequence assigned. No sequence is ever assigned twice, even after purges.
  var lastSequence: UInt64 = 0
  /// The number of documents that are not deleted.
  var documents: UInt64 = 0
  /// The number of documents whose winner is a tombstone.
  var tombstones: UInt64 = 0
  /// The number of stored bodies, and their bytes.
  var bodies: UInt64 = 0
  var bodyBytes: UInt64 = 0
  /// The number of stored bodies that do not belong to a leaf.
  var superseded: UInt64 = 0
  /// The number of pairs of a body and a blob that it refers to.
  var references: UInt64 = 0
  /// The number of indexes, including those that are being built.
  var indexes: UInt64 = 0
  /// The number of times that an index of any kind was created, completed or dropped, or a view
  /// begun or dropped; also the number of the latest of these changes.
  var indexChanges: UInt64 = 0
  /// The number of views.
  var views: UInt64 = 0
  /// The number of full-text indexes, including those that are being built.
  var texts: UInt64 = 0

  /// The length, in bytes, of most encoded states; a larger one takes a second allocation.
  private static let usualLength = 64

  /// Returns the approximate number of bytes that a sweep would free.
  ///
  /// - Parameter kept: the number of superseded bodies that it would leave.
  func reclaimableBytes(keeping kept: UInt64) -> UInt64 {
    guard bodies > 0, superseded > kept else { return 0 }
    return UInt64(Double(bodyBytes) * (Double(min(superseded - kept, bodies)) / Double(bodies)))
  }

  func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(CollectionState.usualLength)
    bytes.append(format)
    identity.append(to: &bytes)
    bytes.append(varint: lastSequence)
    bytes.append(varint: documents)
    bytes.append(varint: tombstones)
    bytes.append(varint: bodies)
    bytes.append(varint: bodyBytes)
    bytes.append(varint: superseded)
    bytes.append(varint: references)
    bytes.append(varint: indexes)
    bytes.append(varint: indexChanges)
    if views > 0 || texts > 0 { bytes.append(varint: views) }
    if texts > 0 { bytes.append(varint: texts) }
    return bytes
  }

  private var format: UInt8 {
    if texts > 0 { return CollectionState.formatWithTexts }
    return views > 0 ? CollectionState.formatWithViews : CollectionState.format
  }

  /// The state of an empty collection.
  init(_ identity: CollectionIdentity) { self.identity = identity }

  init(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
    guard var source = UntrustedBytes(bytes, what: "the state of a collection") else {
      throw DatabaseError(.corruptData, "the state of a collection is empty")
    }
    let format = try source.byte()
    guard CollectionState.format...CollectionState.formatWithTexts ~= format else {
      throw DatabaseError(.tooNew, "the state of a collection has the format \(format)")
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
    if format >= CollectionState.formatWithViews { views = try source.varint() }
    if format == CollectionState.formatWithTexts { texts = try source.varint() }
    guard self.format == format else {
      throw source.damaged("it counts \(views) views and \(texts) full-text indexes, in the format \(format)")
    }
    guard source.isAtEnd else { throw source.damaged("it is too long") }
    // Later additions to any of these cannot overflow.
    let number =
      lastSequence | documents | tombstones | bodies | bodyBytes | superseded | references | indexes
      | indexChanges | views | texts
    guard number < 1 << 62 else { throw source.damaged("one of its counts is too large") }
  }
}
