import LatewoodCrypto
import LatewoodFleece
import LatewoodHTTP
import Testing

@testable import LatewoodServing

/// Requests with and without credentials, to a server that has users.
@Suite struct UserTests {
  private let admin = TestSite.basic("admin", "secret")
  private let ann = TestSite.basic("ann", "pw")

  @Test(
    arguments: [
      ("GET /", 200), ("GET /_up", 200), ("GET /_session", 200), ("GET /_uuids", 200), ("GET /_all_dbs", 401),
      ("GET /notes", 401), ("GET /none", 401), ("PUT /other", 401), ("GET /notes/a", 401),
      ("PUT /notes/_local/x", 401), ("GET /notes/_changes?feed=continuous", 401), ("POST /notes/_find", 401),
      ("GET /_default/a", 401), ("GET //notes//a", 401), ("GET /%6Eotes/a", 401),
    ])
  func `nobody sees a document without a password`(line: String, status: Int) async throws {
    let answer = try await TestSite().send(line, body: line.hasPrefix("P") ? "{}" : "")
    #expect(answer.status == status)
    #expect((answer.field("WWW-Authenticate") != nil) == (status == 401))
  }

  @Test(
    arguments: [
      ("GET /notes", "", 200), ("PUT /notes/a", "{}", 201), ("PUT /notes/_local/a", "{}", 201),
      ("POST /notes/_find", #"{"selector":{}}"#, 200), ("POST /notes/_revs_diff", "{}", 200),
      ("POST /notes/_ensure_full_commit", "{}", 201), ("GET /notes/_security", "", 200),
      ("GET /notes/_index", "", 200), ("GET /notes/_revs_limit", "", 200),
      ("PUT /other", "", 403), ("DELETE /notes", "", 403), ("GET /_all_dbs", "", 403),
      ("POST /notes/_purge", "{}", 403), ("POST /notes/_compact", "{}", 403),
      ("POST /notes/_view_cleanup", "{}", 403), ("PUT /notes/_security", "{}", 403),
      ("PUT /notes/_revs_limit", "10", 403), ("POST /notes/_index", "{}", 403),
      ("DELETE /notes/_index/_design%2Fx/json/x", "", 403), ("PUT /notes/_design/x", "{}", 403),
      ("PUT /notes/_design%2Fx", "{}", 403), ("PUT /notes/_design/x/file", "{}", 403),
      ("POST /notes", #"{"_id":"_design/x"}"#, 403),
    ])
  func `users read and write documents, and administrators do everything`(
    line: String, body: String, status: Int
  ) async throws {
    let site = try TestSite()
    let answer = try await site.send(line, ann, body: body)
    #expect(answer.status == status && answer.user == "ann", "\(answer.text)")
    #expect(try await site.send(line, admin, body: body).status != 403)
  }

  @Test(arguments: ["true", "false"])
  func `a design document in a batch is refused alone`(edits: String) async throws {
    let site = try TestSite()
    let revision = edits == "true" ? "" : #","_rev":"1-a""#
    let body = #"{"new_edits":\#(edits),"docs":[{"_id":"_design/x"\#(revision)},{"_id":"b"\#(revision)}]}"#
    let answer = try await site.send("POST /notes/_bulk_docs", ann, body: body)
    #expect(answer.status == 201 && answer.text.contains(#""error":"forbidden""#), "\(answer.text)")
    #expect(try await site.send("GET /notes/b", ann).status == 200)
    #expect(try await site.send("GET /notes/_design/x", admin).status == 404)
    #expect(try await site.send("COPY /notes/b", "Destination: _design/x", ann).status == 403)
  }

  @Test func `wrong credentials are refused everywhere, and a program learns how to send better ones`()
    async throws
  {
    let site = try TestSite()
    for field in [
      TestSite.basic("ann", "secret"), TestSite.basic("bo", "pw"), TestSite.basic("Ann", "pw"),
      "Authorization: Basic ???", "Authorization: Bearer x", TestSite.basic("", ""),
      TestSite.basic("ann", String(repeating: "x", count: 2000)),
    ] {
      let answer = try await site.send("GET /", field)
      #expect(answer.status == 401 && answer.text.contains("Name or password is incorrect."), "\(field)")
      #expect(answer.field("WWW-Authenticate")?.hasPrefix("Basic ") == true)
    }
    // A page asks for the password itself.
    let page = try await site.send("GET /notes", "Sec-Fetch-Mode: cors")
    #expect(page.status == 401 && page.field("WWW-Authenticate")?.hasPrefix("Cookie ") == true)
  }

  // MARK: - Sessions

  private func logIn(_ site: TestSite) async throws -> String {
    let answer = try await site.send("POST /_session", body: #"{"name":"ann","password":"pw"}"#)
    #expect(
      answer.status == 200 && answer.text.hasSuffix(#"{"ok":true,"name":"ann","roles":["reader"]}"# + "\n"))
    let field = try #require(answer.field("Set-Cookie"))
    #expect(field.hasSuffix("; Version=1; Max-Age=600; Path=/; HttpOnly; SameSite=Strict"))
    return try #require(answer.cookie)
  }

  @Test func `a session lasts for ten minutes after its last use`() async throws {
    let site = try TestSite()
    var cookie = try await logIn(site)
    let answer = try await site.send("GET /_session", cookie)
    #expect(answer.text.contains(#""userCtx":{"name":"ann","roles":["reader"]}"#))
    #expect(answer.text.contains(#""authenticated":"cookie""#) && answer.field("Set-Cookie") == nil)
    for _ in 0..<3 {
      site.pass(seconds: 599)
      let answer = try await site.send("GET /notes", cookie)
      #expect(answer.status == 200 && answer.user == "ann")
      cookie = try #require(answer.cookie)
    }
    site.pass(seconds: 600)
    #expect(try await site.send("GET /notes", cookie).status == 401)
  }

  @Test func `a cookie of another process, or a changed one, counts as none`() async throws {
    let (site, other) = (try TestSite(), try TestSite(key: 2))
    let cookie = try await logIn(site)
    #expect(try await site.send("GET /notes", cookie).status == 200)
    #expect(try await other.send("GET /notes", cookie).status == 401)
    let value = try #require(SessionCookie.value(in: HTTPFields([("Cookie", String(cookie.dropFirst(8)))])))
    let secret = ProcessSecret(
      Array(repeating: UInt8(1), count: 32).withUnsafeBytes { SecretBytes(copying: $0) })
    #expect(SessionCookie(value, secret)?.user == "ann")
    var bytes = try #require(Base64.decode(value))
    for bit in 0..<(bytes.count * 8) {
      bytes[bit / 8] ^= 1 << (bit % 8)
      #expect(SessionCookie(Base64.encode(bytes).utf8, secret) == nil, "bit \(bit)")
      bytes[bit / 8] ^= 1 << (bit % 8)
    }
    for text in ["", "x", String(repeating: "A", count: 4000), "%00", "\"\""] {
      #expect(try await site.send("GET /notes", "Cookie: AuthSession=\(text)").status == 401)
      // Credentials still count beside it.
      #expect(try await site.send("GET /notes", "Cookie: AuthSession=\(text)", ann).status == 200)
    }
  }

  @Test func `a session is begun by a form, too, and ended`() async throws {
    let site = try TestSite()
    let form = "name=ann&password=pw"
    let (text, served) = try await site.exchange(
      "POST /_session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        + "Content-Length: \(form.utf8.count)\r\n\r\n\(form)")
    #expect(served.map(\.status) == [200] && text.contains("Set-Cookie: AuthSession="))
    let end = try await site.send("DELETE /_session")
    #expect(
      end.status == 200 && end.field("Set-Cookie")?.hasPrefix("AuthSession=; Version=1; Max-Age=0;") == true)
    let wrong = try await site.send("POST /_session", body: #"{"name":"ann","password":"x"}"#)
    #expect(wrong.status == 401 && wrong.field("Set-Cookie")?.hasPrefix("AuthSession=;") == true)
    for body in ["", "[]", "{}", #"{"name":1,"password":2}"#, "{"] {
      #expect(
        [400, 401].contains(try await site.send("POST /_session", body: body, from: "192.0.2.9").status))
    }
    #expect(try TestService().send("POST", "/_session", "{}").status == 405)
  }

  // MARK: - Many passwords

  @Test func `after five wrong passwords none is accepted there for five minutes`() async throws {
    let site = try TestSite()
    for n in 0..<5 {
      #expect(try await site.send("GET /notes", TestSite.basic("ann", "\(n)")).status == 401)
    }
    let locked = try await site.send("GET /notes", ann)
    #expect(locked.status == 403 && locked.text.contains("temporarily locked"))
    #expect(try await site.send("POST /_session", body: #"{"name":"ann","password":"pw"}"#).status == 403)
    #expect(try await site.send("GET /notes", admin).status == 200)
    #expect(try await site.send("GET /notes", ann, from: "192.0.2.2").status == 200)
    site.pass(seconds: 299)
    #expect(try await site.send("GET /notes", ann).status == 403)
    site.pass(seconds: 1)
    #expect(try await site.send("GET /notes", ann).status == 200)
  }

  @Test func `parallel guesses cannot exceed the limit`() async throws {
    let site = try TestSite()
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for n in 0..<40 {
        group.addTask { try await site.send("GET /notes", TestSite.basic("ann", "\(n)")).status }
      }
      return try await group.reduce(into: [Int: Int]()) { $0[$1, default: 0] += 1 }
    }
    #expect(statuses[200] == nil && statuses[401, default: 0] <= 5, "\(statuses)")
    #expect(statuses.keys.allSatisfy { [401, 403, 503].contains($0) })
  }

  @Test func `many requests with the right password are all admitted`() async throws {
    let site = try TestSite()
    let statuses = try await withThrowingTaskGroup(of: Int.self) { [ann] group in
      for _ in 0..<40 { group.addTask { try await site.send("GET /notes", ann).status } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses == Array(repeating: 200, count: 40))
  }

  // MARK: - Bodies

  @Test func `a refused request costs no memory for its body`() async throws {
    let site = try TestSite()
    let head = "PUT /notes/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    let next = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    // A short body is read, so that the connection is kept.
    let short = try await site.exchange(head + "Content-Length: 2\r\n\r\n{}" + next)
    #expect(short.served.map(\.status) == [401, 200])
    for field in ["Content-Length: 60000000", "Transfer-Encoding: chunked"] {
      let long = try await site.exchange(head + field + "\r\n\r\n" + next)
      #expect(long.served.map(\.status) == [401] && long.text.contains("Connection: close"), "\(field)")
    }
    let waiting = try await site.exchange(head + "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n")
    #expect(waiting.served.map(\.status) == [401] && !waiting.text.contains("100 Continue"))
    let foreign = try await site.exchange(
      head + "Origin: http://evil.example\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
    #expect(foreign.served.map(\.status) == [403] && !foreign.text.contains("100 Continue"))
  }
}

@Suite struct LoginThrottleTests {
  @Test func `an address cannot try many names, and the table stays within its limit`() {
    var throttle = LoginThrottle(capacity: 200)
    for n in 0..<LoginThrottle.mostFailuresOfAddress {
      #expect(!throttle.isLocked(ExactName("x"), "a", at: 0))
      throttle.add(ExactName("\(n)"), "a", at: 0)
    }
    #expect(throttle.isLocked(ExactName("x"), "a", at: 0) && !throttle.isLocked(ExactName("x"), "b", at: 0))
    #expect(!throttle.isLocked(ExactName("x"), "a", at: LoginThrottle.duration))
    for n in 0..<300 { throttle.add(ExactName("n"), "\(n)", at: 1) }
    #expect(throttle.count == 200)
  }

  @Test func `an attempt with the right password is taken back`() {
    var throttle = LoginThrottle()
    for _ in 0..<1000 {
      throttle.add(ExactName("x"), "a", at: 0)
      throttle.remove(ExactName("x"), "a")
    }
    #expect(!throttle.isLocked(ExactName("x"), "a", at: 0) && throttle.count == 0)
  }

  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"),
    ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"), ("2001:db8:1:2::6", "2001:db8:1:2::/64"),
    ("2001:db8::6", "2001:db8:0:0::/64"), ("::1", "0:0:0:0::/64"), ("fe80::1%eth0", "fe80:0:0:0::/64"),
    ("", ""), ("unknown", "unknown"), ("::", "0:0:0:0::/64"),
  ])
  func `attempts of one network count together`(address: String, place: String) {
    #expect(LoginThrottle.place(of: address) == place)
  }
}
