import Foundation
import LatewoodConcurrency
import LatewoodHTTP

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Passes the events of a session on to the exchanges of its tasks.
final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
  private struct Running {
    let exchange: Exchange
    /// Whether the server has asked for credentials, so that the answer is complete.
    var isChallenged = false
    /// Whether the server lacks the pinned certificates.
    var isRefused = false
  }
  private let running = Guarded<[Int: Running]>([:])

  #if canImport(Security)
    private let settings: ConnectionSettings
    private let clientCredential: URLCredential?

    init(
      _ settings: ConnectionSettings = ConnectionSettings(), _ clientCredential: URLCredential? = nil
    ) {
      (self.settings, self.clientCredential) = (settings, clientCredential)
    }
  #endif

  func begin(_ exchange: Exchange, for task: URLSessionTask) {
    running.withLock { $0[task.taskIdentifier] = Running(exchange: exchange) }
  }

  /// Cancels all exchanges that run.
  func cancelAll() { for running in running.withLock({ Array($0.values) }) { running.exchange.cancel() } }

  private func exchange(of task: URLSessionTask) -> Exchange? {
    running.withLock { $0[task.taskIdentifier]?.exchange }
  }

  // MARK: - Answers

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    // On Linux, the interim answer 100 is reported too.
    if let head = SessionDelegate.head(response), !head.isInterim { exchange(of: dataTask)?.receive(head) }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    exchange(of: dataTask)?.receive(data)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    guard let ended = running.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
    let exchange = ended.exchange
    if let failure = exchange.body?.failure {
      exchange.end(.failure(failure))
    } else if ended.isRefused {
      exchange.end(.failure(HTTPError(.insecure, SessionDelegate.notPinned)))
    } else if ended.isChallenged {
      // The answer to a request without the right credentials.
      exchange.end(.success(()))
    } else if let error {
      exchange.end(.failure(SessionDelegate.error(error as NSError, hasHead: exchange.hasHead)))
    } else {
      exchange.end(.success(()))
    }
  }

  private static func head(_ response: URLResponse) -> HTTPResponseHead? {
    guard let response = response as? HTTPURLResponse else { return nil }
    var fields = HTTPFields()
    var strings: [String: String] = [:]
    for case (let name as String, let value as String) in response.allHeaderFields {
      strings[name] = value
      // Several cookies are joined in one field; the body has been decoded already.
      if !["set-cookie", "content-encoding"].contains(name.lowercased()) { fields.add(name, value) }
    }
    if let url = response.url {
      for cookie in HTTPCookie.cookies(withResponseHeaderFields: strings, for: url) {
        fields.add("Set-Cookie", "\(cookie.name)=\(cookie.value)")
      }
    }
    return HTTPResponseHead(response.statusCode, fields: fields)
  }

  // MARK: - Questions

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler:
      @escaping @Sendable (
        InputStream?
      ) -> Void
  ) {
    completionHandler(exchange(of: task)?.body?.stream())
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    let methods = [
      NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest, NSURLAuthenticationMethodNTLM,
      NSURLAuthenticationMethodNegotiate, NSURLAuthenticationMethodDefault,
    ]
    guard methods.contains(challenge.protectionSpace.authenticationMethod) else {
      #if canImport(Security)
        if let answer = certificateAnswer(challenge, task) { return completionHandler(answer.0, answer.1) }
      #endif
      return completionHandler(.performDefaultHandling, nil)
    }
    // On Linux, the default would never end the task, and this one ends it as if it were cancelled.
    running.withLock { $0[task.taskIdentifier]?.isChallenged = true }
    completionHandler(.rejectProtectionSpace, nil)
  }

  #if canImport(Security)
    /// Returns the answer to a question about certificates that the settings decide; nil for the
    /// answer of the system.
    private func certificateAnswer(
      _ challenge: URLAuthenticationChallenge, _ task: URLSessionTask
    ) -> (URLSession.AuthChallengeDisposition, URLCredential?)? {
      switch challenge.protectionSpace.authenticationMethod {
      case NSURLAuthenticationMethodServerTrust:
        guard !settings.pinnedCertificates.isEmpty, let trust = challenge.protectionSpace.serverTrust
        else { return nil }
        if settings.accepts(trust) { return (.useCredential, URLCredential(trust: trust)) }
        running.withLock { $0[task.taskIdentifier]?.isRefused = true }
        return (.cancelAuthenticationChallenge, nil)
      case NSURLAuthenticationMethodClientCertificate:
        return clientCredential.map { (.useCredential, $0) }
      default: return nil
      }
    }
  #endif

  // MARK: - Errors

  /// Converts an error of URLSession. The texts of the system are not passed on: they may contain
  /// the URL.
  ///
  /// - Parameter hasHead: whether the answer had begun.
  static func error(_ error: NSError, hasHead: Bool) -> HTTPError {
    guard error.domain == NSURLErrorDomain else {
      return HTTPError(.connectionLost, "the system's client failed with error \(error.code)")
    }
    switch error.code {
    case NSURLErrorCancelled: return HTTPError(.cancelled, "the request was cancelled")
    case NSURLErrorTimedOut: return HTTPError(.timedOut, "the server did not answer in time")
    case NSURLErrorCannotFindHost, NSURLErrorDNSLookupFailed:
      return HTTPError(.notConnected, "the name of the host is not known")
    case NSURLErrorCannotConnectToHost:
      return HTTPError(.notConnected, "the host cannot be reached")
    case NSURLErrorNotConnectedToInternet, NSURLErrorDataNotAllowed, NSURLErrorInternationalRoamingOff:
      return HTTPError(.notConnected, "the device is offline")
    case NSURLErrorServerCertificateHasBadDate, NSURLErrorServerCertificateNotYetValid:
      return HTTPError(.insecure, expired)
    case NSURLErrorServerCertificateUntrusted, NSURLErrorServerCertificateHasUnknownRoot:
      return HTTPError(.insecure, untrusted)
    case NSURLErrorSecureConnectionFailed, NSURLErrorClientCertificateRejected,
      NSURLErrorClientCertificateRequired, NSURLErrorAppTransportSecurityRequiresSecureConnection:
      return HTTPError(.insecure, "a secure connection to the server cannot be made")
    case NSURLErrorBadServerResponse where error.localizedDescription.hasPrefix("Empty reply"):
      return HTTPError(.connectionLost, "the server closed the connection")
    case NSURLErrorBadServerResponse, NSURLErrorCannotParseResponse, NSURLErrorUnsupportedURL,
      NSURLErrorCannotDecodeRawData, NSURLErrorCannotDecodeContentData:
      return HTTPError(.malformed, "the server sent something that is not HTTP")
    default: break
    }
    // On Linux, all that libcurl reports about certificates is one code and its text.
    let text = error.localizedDescription
    if text.contains("SSL") || text.contains("certificate") {
      if text.contains("expired") || text.contains("not yet valid") { return HTTPError(.insecure, expired) }
      if text.contains("subject name") { return HTTPError(.insecure, otherHost) }
      if text.contains("self-signed") || text.contains("self signed") || text.contains("issuer") {
        return HTTPError(.insecure, untrusted)
      }
      if !hasHead { return HTTPError(.insecure, "a secure connection to the server cannot be made") }
    }
    return hasHead
      ? HTTPError(.truncated, "the connection was lost within an answer")
      : HTTPError(.connectionLost, "the connection was lost")
  }

  private static let expired = "the certificate of the server has expired, or is not valid yet"
  private static let untrusted = "the certificate of the server is from an authority that is not trusted here"
  private static let notPinned =
    "the certificate of the server is not trusted here, or none of its chain is pinned"
  private static let otherHost = "the certificate of the server is for another host"
}
