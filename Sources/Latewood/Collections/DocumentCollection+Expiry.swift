import LatewoodDocuments

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Documents that forget themselves.
extension DocumentCollection {
  /// Sets when a document is purged, or that it never is. That makes no revision, and other
  /// replicas are not told.
  ///
  /// From that time on every read treats the document as not there, also where the database is open
  /// to be read only. The document is purged about then while the database is open for writing,
  /// after a minute at most if the clock was set meanwhile; else when it is opened next. A disk
  /// that is full delays that, by a minute each time it is tried.
  ///
  /// An edit keeps the time. Deleting the document ends it: the deletion stays, for other replicas
  /// to learn of, and a new document after it does not expire.
  ///
  /// - Parameters:
  ///   - id: of the document.
  ///   - date: rounded up to a second; nil: never.
  /// - Throws: ``DatabaseError`` `notFound` if there is no such document; `invalidParameter` if the
  ///   date is before 1970.
  public func setExpiration(of id: String, _ date: Date?) throws(DatabaseError) {
    let seconds = try date.map { (date) throws(DatabaseError) in
      guard let seconds = UInt64(exactly: date.timeIntervalSince1970.rounded(.up)), seconds < 1 << 40 else {
        throw DatabaseError(.invalidParameter, "a document cannot expire at \(date)")
      }
      return seconds
    }
    try write { (writer) throws(DocumentError) in try writer.setExpiry(of: id, in: spaces, seconds) }
  }

  /// When a document is purged; nil for never, or if there is none, any more.
  public func expiration(of id: String) throws(DatabaseError) -> Date? {
    let reads = try reads()
    let seconds = try translating { () throws(DocumentError) in try reads.expiry(of: id) }
    return seconds.map { Date(timeIntervalSince1970: Double($0)) }
  }
}

/// Documents without history, which are in no feed and for no other replica.
extension DocumentCollection {
  /// The content of a local document; nil if there is none.
  public func localDocument(_ name: String) throws(DatabaseError) -> DocumentValue? {
    let reads = try reads()
    let body = try translating { () throws(DocumentError) in try reads.local(name) }
    return body.map { Document(id: name, revision: nil, sequence: 0, body: $0).body }
  }

  /// Keeps a local document, in the place of what there is.
  ///
  /// - Parameters:
  ///   - name: by the rules of document ids. Throws `badDocumentID` otherwise.
  ///   - members: all of its content. Blobs in it stay as long as it does.
  public func setLocalDocument(
    _ name: String, _ members: [String: DocumentValue]
  ) throws(DatabaseError) {
    let body = try MutableDocument(id: name, members).encodedBody()
    let blobs = BlobReferences.places(in: body)
    let added = try write { (writer) throws(DocumentError) in
      try writer.putLocal(name, in: spaces, body: body, blobs: blobs.map(\.digest))
    }
    database.release(blobs, added)
  }

  /// Deletes a local document. False if there is none.
  @discardableResult
  public func deleteLocalDocument(_ name: String) throws(DatabaseError) -> Bool {
    try write { (writer) throws(DocumentError) in try writer.deleteLocal(name, in: spaces) }
  }

  /// The names of all local documents, in the order of their bytes.
  public var localDocumentNames: [String] {
    get throws(DatabaseError) {
      let reads = try reads()
      return try translating { () throws(DocumentError) in try reads.localNames() }
    }
  }
}
