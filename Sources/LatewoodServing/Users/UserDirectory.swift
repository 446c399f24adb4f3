import Dispatch
import LatewoodConcurrency
import LatewoodCrypto
import LatewoodFleece
import LatewoodHTTP

/// The users of a server: recognizes them by the credentials and cookies of their requests.
///
/// ```
/// credentials ─> throttle ─> proof of this process ─> queue: PBKDF2 ─> right: a proof is kept
///                └─ locked    └─ right at once        └─ full           └─ wrong: stays counted
/// ```
///
/// 1. Passwords are checked on one queue, one after the other, so that wrong ones take at most one
///    core. An address can have only a few checks waiting there, and all together have a limit.
/// 2. A right password leaves a proof, a hash of name and password under a secret of this process.
///    The next requests with it cost microseconds.
/// 3. An attempt is counted before it is checked. Requests with the same credentials that arrive
///    meanwhile wait for the same check.
/// 4. The check of an unknown name takes as long as the check of a known one.
///
/// Thread safety: all calls from any task.
package final class UserDirectory: Sendable {
  private enum Outcome {
    case right, wrong, locked, busy
  }

  private typealias Waiter = CheckedContinuation<Outcome, Never>

  private struct Check {
    var address: String
    var waiters: [Waiter]
  }

  private struct State {
    /// The proofs of the passwords that were right, by name.
    var proofs: [ExactName: [UInt8]] = [:]
    /// The checks that have been queued, by their proofs.
    var checks: [[UInt8]: Check] = [:]
    var throttle = LoginThrottle()
  }

  private static let mostChecks = 64
  private static let mostChecksOfAddress = 4
  /// The greatest length of a name and of a password, in bytes.
  private static let longest = 1024

  private let accounts: [ExactName: UserAccount]
  /// The hash that passwords for unknown names are compared with.
  private let decoy: PasswordHash?
  private let secret: ProcessSecret
  private let now: @Sendable () -> UInt64
  private let queue = DispatchQueue(label: "latewood.passwords", qos: .utility)
  private let state = Guarded(State())

  /// - Parameters:
  ///   - secret: 32 random bytes, with which cookies are signed.
  ///   - environment: has the clock.
  package init(_ accounts: [UserAccount], secret: SecretBytes, environment: Environment = .system) {
    self.accounts = Dictionary(
      accounts.map { (ExactName($0.name), $0) }, uniquingKeysWith: { first, _ in first })
    decoy = accounts.first?.password
    self.secret = ProcessSecret(secret)
    now = { environment.now() / 1_000_000 }
  }

  // MARK: - Requests

  /// A user, with the cookie that renews the session.
  struct Recognized {
    var user: RequestUser
    /// Nil if the request has no session, or a new one.
    var renewedCookie: String?
  }

  /// Returns the user of a request.
  ///
  /// A cookie that is too old, or that another process has signed, counts as none.
  ///
  /// - Parameters:
  ///   - address: the place of the client at which attempts are counted.
  ///   - acceptsCookie: whether a cookie counts.
  /// - Throws: `APIError` 401 if the password is wrong, 403 if there were too many wrong ones, 503
  ///   if too many are being checked.
  func recognize(
    _ fields: HTTPFields, from address: String, acceptsCookie: Bool
  ) async -> Result<Recognized, APIError> {
    if acceptsCookie, let found = session(fields) { return .success(found) }
    guard let text = fields["Authorization"] else { return .success(Recognized(user: .nobody)) }
    guard let credentials = BasicCredentials(authorization: text) else {
      return .failure(UserDirectory.wrong)
    }
    return await logIn(credentials, from: address).map { Recognized(user: RequestUser($0, by: .password)) }
  }

  private func session(_ fields: HTTPFields) -> Recognized? {
    guard let value = SessionCookie.value(in: fields), let cookie = SessionCookie(value, secret),
      let account = accounts[ExactName(cookie.user)]
    else { return nil }
    let now = now()
    // A clock that was set back does not make a session longer.
    guard cookie.time <= now, now - cookie.time < SessionCookie.lifetime else { return nil }
    let isNew = now - cookie.time < SessionCookie.lifetime / 10
    return Recognized(
      user: RequestUser(account, by: .cookie), renewedCookie: isNew ? nil : makeCookie(for: account))
  }

  /// Returns the value of a cookie for a user.
  func makeCookie(for account: UserAccount) -> String {
    SessionCookie(user: account.name, time: now()).value(secret)
  }

  // MARK: - Passwords

  static let wrong = APIError(401, "unauthorized", "Name or password is incorrect.")
  private static let locked = APIError(
    403, "forbidden", "Account is temporarily locked due to multiple authentication failures")
  private static let busy = APIError(
    503, "service_unavailable", "Too many passwords are being checked. Try again later.")

  /// Returns the user with a name and a password.
  func logIn(
    _ credentials: BasicCredentials, from address: String
  ) async -> Result<UserAccount, APIError> {
    guard credentials.name.utf8.count <= UserDirectory.longest,
      credentials.password.utf8.count <= UserDirectory.longest
    else { return .failure(UserDirectory.wrong) }
    let outcome = await withCheckedContinuation { waiter in begin(credentials, address, waiter) }
    switch outcome {
    case .right:
      return accounts[ExactName(credentials.name)].map { .success($0) } ?? .failure(UserDirectory.wrong)
    case .wrong: return .failure(UserDirectory.wrong)
    case .locked: return .failure(UserDirectory.locked)
    case .busy: return .failure(UserDirectory.busy)
    }
  }

  private func begin(_ credentials: BasicCredentials, _ address: String, _ waiter: Waiter) {
    let name = ExactName(credentials.name)
    let proof = secret.hash(
      .credentials, [Array(credentials.name.utf8), Array(credentials.password.utf8)])
    let now = now()
    let (outcome, begins): (Outcome?, Bool) = state.withLock { state in
      if let known = state.checks[proof] {
        state.checks[proof]?.waiters = known.waiters + [waiter]
        return (nil, false)
      }
      if state.throttle.isLocked(name, address, at: now) { return (.locked, false) }
      if let known = state.proofs[name], ProcessSecret.areEqual(known, proof) { return (.right, false) }
      guard state.checks.count < UserDirectory.mostChecks,
        state.checks.values.count(where: { $0.address == address }) < UserDirectory.mostChecksOfAddress
      else { return (.busy, false) }
      state.throttle.add(name, address, at: now)
      state.checks[proof] = Check(address: address, waiters: [waiter])
      return (nil, true)
    }
    if let outcome { waiter.resume(returning: outcome) }
    if begins { queue.async { [self] in check(credentials, name, proof) } }
  }

  /// Checks a password, and resumes all requests that wait for it.
  private func check(_ credentials: BasicCredentials, _ name: ExactName, _ proof: [UInt8]) {
    let password = Array(credentials.password.utf8).withUnsafeBytes { SecretBytes(copying: $0) }
    let account = accounts[name]
    let matches = (account?.password ?? decoy)?.matches(password) ?? false
    let isRight = matches && account != nil
    let check = state.withLock { state in
      let check = state.checks.removeValue(forKey: proof)
      if isRight, let check {
        state.proofs[name] = proof
        state.throttle.remove(name, check.address)
      }
      return check
    }
    for waiter in check?.waiters ?? [] { waiter.resume(returning: isRight ? .right : .wrong) }
  }
}
