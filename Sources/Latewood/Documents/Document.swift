import LatewoodDocuments
import LatewoodFleece

/// A revision of a document, which was read or saved. It never changes.
///
/// The content is read in place on demand, so even a large document costs little until then. To
/// change a document, make a copy with `toMutable()` and save the copy.
public struct Document: DocumentContent {
  /// The id of the document in its collection.
  public let id: String
  /// The revision id, `generation-digest`. It changes with every save, and replicas that make the
  /// same edit get the same id. The digest of a revision that was saved by Latewood is 34 lowercase
  /// hexadecimal digits, or 40 in a database of ``DocumentFormat/version1``; a digest from
  /// elsewhere can be any text of 1 to 46 bytes.
  public var revisionID: String { revision?.description ?? "" }
  /// The sequence of the document's last change when this was read or saved, counted in its
  /// collection from 1. For a revision that was requested by its id, the sequence of the change
  /// that added it.
  public let sequence: UInt64
  /// The revision id in its stored form, because most readers never need the text. Nil for a local
  /// document.
  let revision: RevisionID?
  let flags: DocumentFlags
  /// The members. Nothing in them has been checked yet; damaged values read as missing.
  package let stored: FleeceBody

  /// - Parameters:
  ///   - id: an id that `DocumentID` allows.
  ///   - body: a dictionary in Fleece; empty for a revision without content.
  package init(id: String, revision: RevisionID?, sequence: UInt64, flags: DocumentFlags = [], body: [UInt8])
  {
    self.id = id
    self.revision = revision
    self.sequence = sequence
    self.flags = flags
    stored = body.isEmpty ? .emptyDictionary : FleeceBody(body)
  }

  /// Whether this revision deletes the document. It can still have members.
  public var isDeleted: Bool { flags.contains(.deleted) }

  /// Whether other revisions of the document were waiting to be merged when this was read or saved.
  public var hasConflicts: Bool { flags.contains(.conflicted) }

  /// All members, as one dictionary. It is empty if the root of the stored bytes is damaged;
  /// writing it as JSON, decoding or saving it then throws.
  public var body: DocumentValue {
    do throws(FleeceError) {
      return DocumentValue(stored: try root)
    } catch {
      return DocumentValue(.damaged(error))
    }
  }

  private var root: FleeceElement {
    get throws(FleeceError) {
      let root = try stored.root
      guard try root.kind == .dictionary else {
        throw FleeceError(.damaged, "the content of a document is not a dictionary", offset: 0)
      }
      return root
    }
  }

  /// The value of a member; missing if there is none. Paths continue from there:
  /// `document["address"]["city"].string`.
  public subscript(key: String) -> DocumentValue {
    do throws(FleeceError) {
      return DocumentValue(stored: try root.element(for: key))
    } catch {
      // The same as for any damaged value.
      return .missing
    }
  }

  /// Returns a member; missing if there is none.
  func member(_ name: FleeceName) -> DocumentValue {
    do throws(FleeceError) {
      return DocumentValue(stored: try root.element(for: name))
    } catch {
      return .missing
    }
  }

  /// Like the function of all kinds of documents, which has to find out that this is one with a
  /// revision.
  func decode<T: Decodable>(as type: T.Type, in collection: String?) throws -> T {
    try DocumentCoding.decode(type, from: body.element(), id: id, revision: revision, in: collection)
  }

  /// Returns a copy that can be changed and saved.
  public func toMutable() -> MutableDocument { MutableDocument(copying: self) }

  /// Reads all of the content and throws `corruptRevisionData` if any of it is damaged. O(n).
  ///
  /// - Throws: ``DatabaseError`` `corruptRevisionData`, with the offset in the content.
  public func validate() throws {
    do throws(FleeceError) {
      try root.validate()
    } catch {
      throw DatabaseError(inBody: error)
    }
  }
}

extension Document: Equatable {
  /// Whether both are the same revision of the same document, with the same content, even if other
  /// revisions were current in between, or they are from different databases. Ids are compared as
  /// bytes.
  public static func == (a: Document, b: Document) -> Bool {
    KeyText(a.id) == KeyText(b.id) && a.revision == b.revision && a.stored.bytes == b.stored.bytes
  }
}

/// The properties of a revision apart from its content.
package struct DocumentFlags: OptionSet, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let deleted = DocumentFlags(rawValue: 1)
  package static let conflicted = DocumentFlags(rawValue: 2)
}

extension FleeceBody {
  static let emptyDictionary = FleeceBody([0x70, 0x00])
}
