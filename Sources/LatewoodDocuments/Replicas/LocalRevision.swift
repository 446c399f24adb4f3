import LatewoodFleece
import LatewoodStore

/// Local documents with revisions in CouchDB's form: `0-1` for the first, `0-2` for the next.
///
/// The revision is kept as the member `_rev` of the stored body. A local document that was stored
/// without one is at `0-1`.
extension DocumentWriter {
  /// Stores a local document if it has not been replaced since it was read.
  ///
  /// - Parameters:
  ///   - body: a dictionary in Fleece.
  ///   - revision: the revision that was read; nil if the document did not exist.
  /// - Returns: the new revision.
  /// - Throws: ``DatabaseError`` `conflict` if the document has another revision;
  ///   `invalidParameter` if the body is not a dictionary.
  @discardableResult
  package func putLocal(
    _ name: String, in collection: CollectionHandle, body: [UInt8], replacing revision: String?
  ) throws -> String {
    let stored = try reads(collection).localDocument(name)
    guard stored?.revision == revision else {
      throw DatabaseError(
        .conflict, "the local document \(name) is at \(stored?.revision ?? "no revision")",
        advice: "Read the local document again, and replace that revision.")
    }
    let number = stored.flatMap { UInt64($0.revision.dropFirst(2)) } ?? 0
    let next = "0-\(number &+ 1)"
    try setLocal(name, in: collection, body: body, revision: next)
    return next
  }

  /// Stores a local document at a given revision, whatever it replaces.
  ///
  /// - Parameter body: a dictionary in Fleece.
  /// - Throws: ``DatabaseError`` `invalidParameter` if the body is not a dictionary.
  package func setLocal(
    _ name: String, in collection: CollectionHandle, body: [UInt8], revision: String
  ) throws {
    try putLocal(name, in: collection, body: try LocalRevision.body(body, at: revision))
  }
}

private enum LocalRevision {
  static let member = "_rev"

  /// Returns the members of a dictionary with another revision, or without one.
  static func body(_ members: [UInt8], at revision: String?) throws(DatabaseError) -> [UInt8] {
    do throws(FleeceError) {
      let root = try FleeceBody(members).root
      guard try root.count() != nil, try root.kind == .dictionary else {
        throw FleeceError(.misuse, "a local document is a dictionary")
      }
      var writer = FleeceWriter()
      try writer.beginDictionary()
      try root.writeMembers(to: &writer) { !$0.elementsEqual(member.utf8) }
      if let revision {
        try writer.key(member)
        try writer.string(revision)
      }
      try writer.endDictionary()
      return try writer.finish()
    } catch {
      throw DatabaseError(inValue: error)
    }
  }

  static func revision(of body: [UInt8]) throws(DatabaseError) -> String? {
    do throws(FleeceError) {
      let text = try FleeceBody(body).root.element(for: member)?.string()
      return text?.hasPrefix("0-") == true ? text : nil
    } catch {
      throw DatabaseError(inBody: error)
    }
  }
}

extension DocumentReads {
  /// Returns a local document without its revision member, and its revision; nil if it does not
  /// exist.
  ///
  /// - Throws: ``DatabaseError`` `corruptRevisionData` if its body is not Fleece.
  package func localDocument(
    _ name: String
  ) throws(DatabaseError) -> (revision: String, body: [UInt8])? {
    guard let stored = try local(name) else { return nil }
    guard let revision = try LocalRevision.revision(of: stored) else { return ("0-1", stored) }
    return (revision, try LocalRevision.body(stored, at: nil))
  }
}
