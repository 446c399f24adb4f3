#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Expiry of documents.
extension TypedCollection {
  /// Sets or clears the time at which a document is purged: see
  /// ``DocumentCollection/setExpiration(of:_:)-68jhr``. Saving the value keeps the time.
  ///
  /// - Parameters:
  ///   - id: the id of the value.
  ///   - date: the time, rounded up to a second; nil for never.
  /// - Throws: ``DatabaseError`` `notFound` if the document does not exist; `invalidParameter` if
  ///   the date is before 1970; the errors of saving, except `conflict`.
  public func setExpiration(of id: Value.ID, _ date: Date?) throws {
    try documents.setExpiration(of: documentID(id), date)
  }

  /// Schedules a document to be purged after a given duration. Otherwise like the form with a date.
  ///
  /// - Parameters:
  ///   - id: the id of the value.
  ///   - duration: the time from now, at least zero, rounded up to a second.
  /// - Throws: ``DatabaseError`` `notFound` if the document does not exist; `invalidParameter` if
  ///   the duration is negative, or more than 30,000 years; the errors of saving, except
  ///   `conflict`.
  public func expire(_ id: Value.ID, after duration: Duration) throws {
    try documents.expire(documentID(id), after: duration)
  }

  /// Returns the documents that will expire, the earliest first. O(log n + documents).
  ///
  /// - Parameters:
  ///   - date: the time before which they expire; default: any.
  ///   - limit: the maximum number of documents to return.
  /// - Throws: ``DatabaseError`` like every read.
  public func expirations(
    before date: Date? = nil, limit: Int = .max
  ) throws -> [(documentID: String, date: Date)] {
    try documents.expirations(before: date, limit: limit).map { ($0.id, $0.date) }
  }

  /// Returns the time at which a document is purged; nil if it never is, or if the document does
  /// not exist or has expired.
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public func expiration(of id: Value.ID) throws -> Date? {
    try documents.expiration(of: documentID(id))
  }

  // MARK: Without blocking

  /// Sets or clears the time at which a document is purged, without blocking the caller's thread.
  /// Otherwise like the blocking form.
  ///
  /// - Parameters:
  ///   - id: the id of the value.
  ///   - date: the time, rounded up to a second; nil for never.
  /// - Throws: like every async change; see ``DatabaseError``.
  public func setExpiration(of id: Value.ID, _ date: Date?) async throws {
    try await documents.setExpiration(of: documentID(id), date)
  }

  /// Schedules a document to be purged after a given duration, without blocking the caller's
  /// thread. Otherwise like the blocking form.
  ///
  /// - Parameters:
  ///   - id: the id of the value.
  ///   - duration: the time from the commit, at least zero, rounded up to a second.
  /// - Throws: like every async change; see ``DatabaseError``.
  public func expire(_ id: Value.ID, after duration: Duration) async throws {
    try await documents.expire(documentID(id), after: duration)
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
  ) async throws -> [(documentID: String, date: Date)] {
    try await documents.expirations(before: date, limit: limit).map { ($0.id, $0.date) }
  }

  /// Returns the time at which a document is purged, without blocking the caller's thread; nil if
  /// it never is, or if the document does not exist or has expired.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func expiration(of id: Value.ID) async throws -> Date? {
    try await documents.expiration(of: documentID(id))
  }
}
