import LatewoodDocuments

/// The reason why a replication has stopped, or waits before it tries again.
///
/// ```swift
/// do {
///   try await replicator.run()
/// } catch let error as ReplicationError where error.code == .unauthorized {
///   // ask for other credentials
/// }
/// ```
public struct ReplicationError: Error, Sendable, Equatable {
  /// The kind of an error. Minor versions may add codes.
  public enum Code: String, Sendable, CaseIterable {
    /// The other side cannot be reached: its name, address or network; or a connection was lost.
    case unreachable
    /// The other side did not answer in time.
    case timedOut
    /// The other side asks for a pause, or has failed (HTTP 429, 5xx).
    case unavailable
    /// The credentials are missing, wrong or insufficient.
    case unauthorized
    /// The other side forbids the request.
    case forbidden
    /// The database or collection does not exist.
    case notFound
    /// The answer does not follow the protocol: it is from another kind of server or a captive
    /// portal, or its JSON is damaged.
    case unexpectedAnswer
    /// A secure connection cannot be made: the certificate is wrong, or the redirect leads to a
    /// connection without TLS.
    case insecure
    /// This platform or the other side does not support a part of the configuration.
    case unsupported
    /// A value of the configuration is not accepted.
    case invalidParameter
    /// A local document was changed by another replication.
    case conflict
    /// The database of this process failed; `database` is its error.
    case database
  }

  /// The kind of the error.
  public var code: Code
  /// The description of the problem, in one sentence. Never contains credentials.
  public var message: String
  /// The advice on what to do, in one sentence.
  public var advice: String
  /// The time that the other side asked to wait; nil if it did not.
  public var retryAfter: Duration?
  /// The error of the database of this process; nil for all other errors.
  public var database: DatabaseError?

  /// Whether the same request may succeed later, so that a replication tries again by itself.
  public var isTransient: Bool {
    switch code {
    case .unreachable, .timedOut, .unavailable, .conflict: true
    case .unauthorized, .forbidden, .notFound, .unexpectedAnswer, .insecure, .unsupported,
      .invalidParameter, .database:
      false
    }
  }

  /// - Parameter advice: what to do; default: the usual advice for the code.
  package init(_ code: Code, _ message: String, advice: String? = nil, retryAfter: Duration? = nil) {
    self.code = code
    self.message = message
    self.advice = advice ?? Self.advice(for: code)
    self.retryAfter = retryAfter
  }

  /// Creates the error that reports an error of the database of this process.
  package init(_ error: DatabaseError) {
    self.init(.database, error.message, advice: error.advice)
    database = error
  }

  private static func advice(for code: Code) -> String {
    switch code {
    case .unreachable: "Check the address and the network; a continuous replication tries again by itself."
    case .timedOut, .unavailable: "Try again later; a continuous replication does so by itself."
    case .unauthorized: "Give the credentials of a user who may read and write that database."
    case .forbidden: "Ask the administrator of the other side for the right to do this."
    case .notFound: "Check the name, or create the database first."
    case .unexpectedAnswer: "Check the URL: open it in a browser, and see which server answers."
    case .insecure: "Check the certificate and the clock, and use the address that the certificate names."
    case .unsupported: "Leave the option out, or use a platform that supports it."
    case .invalidParameter:
      "Correct the value; the documentation of the call lists the accepted values."
    case .conflict: "Run the replication again, and only once at a time."
    case .database: "Open the database again, and start the replication again."
    }
  }
}

extension ReplicationError: CustomStringConvertible {
  /// The message, advice and code in one line.
  public var description: String {
    "\(message.hasSuffix(".") ? message : message + ".") \(advice) [\(code.rawValue)]"
  }
}
