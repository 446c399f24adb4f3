/// A fault that ``Database/verify(progress:)-5a0vk`` found.
///
/// ```swift
/// for fault in try database.verify().faults {
///   print(fault)                                // where it is, and what it is
///   if let id = fault.documentID { lost.insert(id) }
/// }
/// ```
public struct DatabaseFault: Sendable, Equatable, CustomStringConvertible {
  /// The name of the collection; nil if the fault is in the database as a whole, or in a blob.
  public var collection: String?
  /// The id of the document; nil if the fault is not in a particular one.
  public var documentID: String?
  /// The id of the revision; nil if the fault is not in a particular one.
  public var revisionID: String?
  /// The sequence of the change in the feed, or of content that no revision refers to.
  public var sequence: UInt64?
  /// The digest of the blob, as in ``Blob/digest``; nil if the fault is not in a particular one.
  public var blobDigest: String?
  /// The offset in the file, in bytes, if the bytes there are damaged.
  public var offset: UInt64?
  /// The description of the fault, in one sentence without a full stop.
  public var message: String
  /// The location of the fault, then its description.
  public var description: String

  /// The blob; nil if the fault is not in a particular one.
  package private(set) var blob: BlobDigest?

  init(
    _ message: String, collection: String? = nil, document: String? = nil, revision: RevisionID? = nil,
    sequence: UInt64? = nil, blob: BlobDigest? = nil
  ) {
    self.init(message, collection, document, revision?.description, sequence, blob)
  }

  /// Creates the fault for an error that ended the check of a part.
  init(
    _ error: any Error, collection: String? = nil, document: String? = nil, blob: BlobDigest? = nil
  ) {
    self.init(DatabaseError.from(error).message, collection: collection, document: document, blob: blob)
  }

  private init(
    _ message: String, _ collection: String?, _ document: String?, _ revision: String?, _ sequence: UInt64?,
    _ blob: BlobDigest?
  ) {
    self.message = message
    self.collection = collection
    documentID = document
    revisionID = revision
    self.sequence = sequence
    self.blob = blob
    blobDigest = blob?.text
    var location: [String] = []
    if let collection { location.append(document.map { "\(collection)/\($0)" } ?? collection) }
    if let revision { location.append("revision \(revision)") }
    if let sequence { location.append("sequence \(sequence)") }
    if let blob { location.append("blob \(blob)") }
    description = location.isEmpty ? message : "\(location.joined(separator: ", ")): \(message)"
  }

  /// Creates a fault of the bytes of the file.
  package init(_ message: String, at offset: UInt64) {
    self.message = message
    self.offset = offset
    description = "at \(offset): \(message)"
  }

  /// Returns a fault at the same location.
  func withMessage(_ message: String, _ blob: BlobDigest? = nil) -> DatabaseFault {
    DatabaseFault(message, collection, documentID, revisionID, sequence, blob)
  }
}
