import LatewoodDocuments
import LatewoodStore

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

  init(_ fault: DocumentFault) {
    collection = fault.collection
    documentID = fault.document
    revisionID = fault.revision?.description
    sequence = fault.sequence
    blobDigest = fault.blob.map { Blob(contentType: nil, sum: $0.bytes, length: 0).digest }
    message = fault.what
    description = fault.description
  }

  init(_ fault: VerifyFault) {
    offset = fault.offset
    message = fault.what
    description = "at \(fault.offset): \(fault.what)"
  }
}
