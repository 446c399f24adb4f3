import LatewoodDocuments
import LatewoodFleece

/// A document as it was read or saved: one revision, which never changes.
///
/// Its content is read in place when it is asked for, so a document costs little until then,
/// however large it is. To change one, take a copy with `toMutable()` and save that.
public struct Document: DocumentContent {
  public let id: String
  /// `generation-digest`: changes with every save, and is the same wherever the same edit was made.
  public var revisionID: String { revision?.description ?? "" }
  /// Of the document's last change when this was read or saved, counted in its collection from 1;
  /// of a revision that was asked for by its id, of the change that brought it.
  public let sequence: UInt64
  /// Kept as it is stored: most readers never ask for the text. Nil: of a local document.
  let revision: RevisionID?
  let flags: DocumentFlags
  /// The members. Nothing in them has been checked here; damaged values read as missing.
  package let stored: FleeceBody

  /// - Parameters:
  ///   - id: one that `DocumentID` allows.
  ///   - body: Fleece of a dictionary; empty for a revision without content.
  package init(id: String, revision: RevisionID?, sequence: UInt64, flags: DocumentFlags = [], body: [UInt8])
  {
    self.id = id
    self.revision = revision
    self.sequence = sequence
    self.flags = flags
    stored = body.isEmpty ? .emptyDictionary : FleeceBody(body)
  }

  /// Whether this revision says that the document is deleted. It may have members all the same.
  public var isDeleted: Bool { flags.contains(.deleted) }

  /// Whether other revisions of the document waited to be merged when this was read or saved.
  public var hasConflicts: Bool { flags.contains(.conflicted) }

  /// Without members if the bytes are damaged from the start; writing it as JSON, decoding and
  /// saving it say so.
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
        throw FleeceError(.damaged, "the content of a document is no dictionary", offset: 0)
      }
      return root
    }
  }

  /// The value of a member; missing if there is none. Paths go on from there:
  /// `document["address"]["city"].string`.
  public subscript(key: String) -> DocumentValue {
    do throws(FleeceError) {
      return DocumentValue(stored: try root.element(for: key))
    } catch {
      // As for a value that is damaged.
      return .missing
    }
  }

  /// A copy that can be changed and saved.
  public func toMutable() -> MutableDocument { MutableDocument(copying: self) }

  /// Reads all of the content and throws `corruptRevisionData` if any of it is damaged. O(n).
  public func validate() throws(DatabaseError) {
    do throws(FleeceError) {
      try root.validate()
    } catch {
      throw DatabaseError(inBody: error)
    }
  }
}

extension Document: Equatable {
  /// Whether both are the same revision of the same document, with the same content: also if other
  /// revisions came between, or if they are from different databases. Ids are compared as bytes.
  public static func == (a: Document, b: Document) -> Bool {
    KeyText(a.id) == KeyText(b.id) && a.revision == b.revision && a.stored.bytes == b.stored.bytes
  }
}

/// What is known of a revision beside its content.
package struct DocumentFlags: OptionSet, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let deleted = DocumentFlags(rawValue: 1)
  package static let conflicted = DocumentFlags(rawValue: 2)
}

extension FleeceBody {
  static let emptyDictionary = FleeceBody([0x70, 0x00])
}
