import LatewoodDocuments

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Expiry of documents.
extension DocumentCollection {
  /// Sets or clears the time at which a document is purged. This creates no revision and is not
  /// replicated.
  ///
  /// After that time every read treats the document as absent, even if the database was opened
  /// read-only. The document is purged at about that time if the database is open for writing, at
  /// most a minute later if the clock was changed; otherwise when the database is next opened. A
  /// full disk delays the purge, which is retried every minute.
  ///
  /// Edits keep the expiration time, and deleting the document clears it: the deletion is kept for
  /// other replicas, and a later document with the id does not expire.
  ///
  /// - Parameters:
  ///   - id: the id of the document.
  ///   - date: the time, rounded up to a second; nil for never.
  /// - Throws: ``DatabaseError`` `notFound` if the document does not exist; `invalidParameter` if
  ///   the date is before 1970.
  public func setExpiration(of id: String, _ date: Date?) throws {
    let seconds = try date.map { (date) throws(DatabaseError) in
      guard let seconds = UInt64(exactly: date.timeIntervalSince1970.rounded(.up)), seconds < 1 << 40 else {
        throw DatabaseError(.invalidParameter, "a document cannot expire at \(date)")
      }
      return seconds
    }
    try write { writer in try writer.setExpiry(of: id, in: handle, seconds) }
  }

  /// Schedules a document to be purged after a given duration; see ``setExpiration(of:_:)-68jhr``.
  ///
  /// - Parameters:
  ///   - id: the id of the document.
  ///   - duration: the time from now, at least zero, rounded up to a second.
  /// - Throws: ``DatabaseError`` `notFound` if the document does not exist; `invalidParameter` if
  ///   the duration is negative, or more than 30,000 years.
  public func expire(_ id: String, after duration: Duration) throws {
    let (seconds, rest) = duration.components
    guard let whole = UInt64(exactly: seconds), whole < 1 << 39, rest >= 0 else {
      throw DatabaseError(.invalidParameter, "a document cannot expire after \(duration)")
    }
    try write { writer in
      // The writer's clock counts whole seconds.
      try writer.setExpiry(of: id, in: handle, writer.now + whole + (whole > 0 || rest > 0 ? 1 : 0))
    }
  }

  /// Schedules a document to be purged after a given duration, even if it has been saved since it
  /// was read; see ``setExpiration(of:_:)-68jhr``.
  ///
  /// - Parameters:
  ///   - document: the document.
  ///   - duration: the time from now, at least zero, rounded up to a second.
  /// - Throws: ``DatabaseError`` like the form with an id.
  public func expire(_ document: some DocumentContent, after duration: Duration) throws {
    try expire(document.id, after: duration)
  }

  /// Returns the documents that will expire, the earliest first. O(log n + documents).
  ///
  /// - Parameters:
  ///   - date: the time before which they expire; default: any.
  ///   - limit: the maximum number of documents to return.
  /// - Throws: ``DatabaseError`` like every read.
  public func expirations(before date: Date? = nil, limit: Int = .max) throws -> [(id: String, date: Date)] {
    let end = date.map { $0.timeIntervalSince1970.rounded(.up) } ?? .infinity
    let reads = try reads()
    return try reads.pending(before: end >= 0x1p63 ? .max : UInt64(max(end, 0)), limit: limit).map {
      ($0.id, Date(timeIntervalSince1970: Double($0.seconds)))
    }
  }

  /// Returns the time at which a document is purged; nil if it never is, or if the document does
  /// not exist or has expired.
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public func expiration(of id: String) throws -> Date? {
    let reads = try reads()
    let seconds = try reads.expiry(of: id)
    return seconds.map { Date(timeIntervalSince1970: Double($0)) }
  }

  // MARK: Without blocking

  /// Sets or clears the time at which a document is purged, without blocking the caller's thread.
  /// Otherwise like the blocking form.
  ///
  /// - Parameters:
  ///   - id: the id of the document.
  ///   - date: the time, rounded up to a second; nil for never.
  /// - Throws: like every async change; see ``DatabaseError``.
  public func setExpiration(of id: String, _ date: Date?) async throws {
    try await database.inBatch { [self] in try setExpiration(of: id, date) }
  }

  /// Schedules a document to be purged after a given duration, without blocking the caller's
  /// thread. Otherwise like the blocking form.
  ///
  /// - Parameters:
  ///   - id: the id of the document.
  ///   - duration: the time from the commit, at least zero, rounded up to a second.
  /// - Throws: like every async change; see ``DatabaseError``.
  public func expire(_ id: String, after duration: Duration) async throws {
    try await database.inBatch { [self] in try expire(id, after: duration) }
  }

  /// Schedules a document to be purged after a given duration, without blocking the caller's
  /// thread. Otherwise like the blocking form.
  ///
  /// - Parameters:
  ///   - document: the document.
  ///   - duration: the time from the commit, at least zero, rounded up to a second.
  /// - Throws: like every async change; see ``DatabaseError``.
  public func expire(_ document: some DocumentContent, after duration: Duration) async throws {
    try await expire(document.id, after: duration)
  }

  /// Returns the documents that will expire, the earliest first, without blocking the caller's
  /// thread.
  ///
  /// - Parameters:
  ///   - date: the time before which they expire; default: any.
  ///   - limit: the maximum number of documents to return.
  /// - Throws: like every async read; see ``DatabaseError``.
  public func expirations(
    before date: Date? = nil, limit: Int = .max
  ) async throws -> [(id: String, date: Date)] {
    try await database.performing { [self] in try expirations(before: date, limit: limit) }
  }

  /// Returns the time at which a document is purged, without blocking the caller's thread; nil if
  /// it never is, or if the document does not exist or has expired.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func expiration(of id: String) async throws -> Date? {
    try await database.performing { [self] in try expiration(of: id) }
  }
}

/// Local documents, which have no history, appear in no feed and are not replicated.
extension DocumentCollection {
  /// Returns the content of a local document; nil if there is none.
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public func localDocument(_ name: String) throws -> DocumentValue? {
    let reads = try reads()
    let body = try reads.local(name)
    return body.map { Document(id: name, revision: nil, sequence: 0, body: $0).body }
  }

  /// Stores a local document, replacing an existing one.
  ///
  /// - Parameters:
  ///   - name: a name that obeys the rules of document ids.
  ///   - members: the whole content. Its blobs are kept as long as it is.
  /// - Throws: ``DatabaseError`` `badDocumentID` if the name is not valid; `corruptRevisionData` if
  ///   a member has a reserved name; `invalidParameter` if a value cannot be stored; otherwise like
  ///   every change.
  public func setLocalDocument(
    _ name: String, _ members: [String: DocumentValue]
  ) throws {
    let body = try MutableDocument(id: name, members).encodedBody()
    let blobs = BlobReferences.places(in: body)
    let added = try write { writer in
      try writer.putLocal(name, in: handle, body: body, blobs: blobs.map(\.digest))
    }
    database.release(blobs, added)
  }

  /// Deletes a local document. Returns false if there was none.
  ///
  /// - Throws: ``DatabaseError`` like every change.
  @discardableResult
  public func deleteLocalDocument(_ name: String) throws -> Bool {
    try write { writer in try writer.deleteLocal(name, in: handle) }
  }

  /// The names of all local documents, in the order of their bytes.
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public var localDocumentNames: [String] {
    get throws {
      let reads = try reads()
      return try reads.localNames()
    }
  }
  // MARK: Without blocking

  /// Returns the content of a local document without blocking the caller's thread; nil if there is
  /// none.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func localDocument(_ name: String) async throws -> DocumentValue? {
    try await database.performing { [self] in try localDocument(name) }
  }

  /// Stores a local document without blocking the caller's thread, replacing an existing one.
  ///
  /// - Parameters:
  ///   - name: a name that obeys the rules of document ids.
  ///   - members: the whole content. Its blobs are kept as long as it is.
  /// - Throws: like every async change; see ``DatabaseError``.
  public func setLocalDocument(_ name: String, _ members: [String: DocumentValue]) async throws {
    try await database.inBatch { [self] in try setLocalDocument(name, members) }
  }

  /// Deletes a local document without blocking the caller's thread. Returns false if there was
  /// none.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func deleteLocalDocument(_ name: String) async throws -> Bool {
    try await database.inBatch { [self] in try deleteLocalDocument(name) }
  }
}
