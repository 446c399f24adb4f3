/// An inconsistency found by verification, with its location.
package struct DocumentFault: Sendable, Equatable, CustomStringConvertible {
  /// The collection; nil for the database as a whole, or a blob.
  package var collection: String?
  package var document: String?
  package var revision: RevisionID?
  /// The sequence of an entry of the feed, or of a body that does not belong to a current revision.
  package var sequence: UInt64?
  package var blob: BlobDigest?
  /// The problem, without a full stop.
  package var what: String

  init(
    _ what: String, collection: String? = nil, document: String? = nil, revision: RevisionID? = nil,
    sequence: UInt64? = nil, blob: BlobDigest? = nil
  ) {
    self.what = what
    self.collection = collection
    self.document = document
    self.revision = revision
    self.sequence = sequence
    self.blob = blob
  }

  /// The location, followed by the problem.
  package var description: String {
    var place: [String] = []
    if let collection { place.append(document.map { "\(collection)/\($0)" } ?? collection) }
    if let revision { place.append("revision \(revision)") }
    if let sequence { place.append("sequence \(sequence)") }
    if let blob { place.append("blob \(blob)") }
    return place.isEmpty ? what : "\(place.joined(separator: ", ")): \(what)"
  }
}
