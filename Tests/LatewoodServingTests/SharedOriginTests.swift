import Testing

@testable import LatewoodServing

/// Which hosts and which pages of other origins are answered.
@Suite struct SharedOriginTests {
  private let ann = TestSite.basic("ann", "pw")

  @Test func `a page of a listed origin reads responses, errors and all, with the cookie`() async throws {
    let site = try TestSite(
      AllowedOrigins(hosts: AllowedOrigins.loopbackHosts, sharedWith: ["https://app.example"]))
    let page = "Origin: https://app.example"
    for (line, status) in [("GET /notes", 200), ("GET /none", 404), ("POST /notes/_find", 400)] {
      let answer = try await site.send(line, page, ann)
      #expect(answer.status == status)
      #expect(answer.field("Access-Control-Allow-Origin") == "https://app.example")
      #expect(answer.field("Access-Control-Allow-Credentials") == "true" && answer.field("Vary") == "Origin")
      #expect(answer.field("Access-Control-Expose-Headers")?.contains("ETag") == true)
    }
    let refused = try await site.send("GET /notes", page)
    #expect(refused.status == 401 && refused.field("Access-Control-Allow-Origin") != nil)
    let login = try await site.send("POST /_session", page, body: #"{"name":"ann","password":"pw"}"#)
    #expect(try await site.send("GET /notes", page, try #require(login.cookie)).status == 200)
    for other in ["https://app.example:444", "http://app.example", "https://evil.example", "null"] {
      let answer = try await site.send("GET /notes", "Origin: \(other)", ann)
      #expect(answer.status == 403 && answer.field("Access-Control-Allow-Origin") == nil, "\(other)")
    }
  }

  @Test func `a preflight needs no password and promises what will be allowed`() async throws {
    let site = try TestSite(
      AllowedOrigins(hosts: AllowedOrigins.loopbackHosts, sharedWith: ["https://app.example"]))
    let asked = "Access-Control-Request-Method: PUT"
    let answer = try await site.send("OPTIONS /notes/a", "Origin: https://app.example", asked)
    #expect(answer.status == 204 && answer.field("Access-Control-Allow-Origin") == "https://app.example")
    #expect(answer.field("Access-Control-Allow-Methods")?.contains("PUT") == true)
    #expect(answer.field("Access-Control-Allow-Headers")?.contains("Authorization") == true)
    #expect(answer.field("Access-Control-Max-Age") == "600" && answer.field("Content-Length") == nil)
    #expect(try await site.send("OPTIONS /notes/a", "Origin: https://evil.example", asked).status == 403)
    // A page of this server has nothing to ask.
    #expect(try await site.send("OPTIONS /notes", "Origin: http://localhost", asked, ann).status == 405)
    #expect(try await site.send("OPTIONS *").status == 204)
  }

  @Test func `if all origins are allowed, cookies do not count`() async throws {
    let site = try TestSite(AllowedOrigins(hosts: AllowedOrigins.loopbackHosts, sharedWith: ["*"]))
    let page = "Origin: https://any.example"
    let answer = try await site.send("GET /notes", page, ann)
    #expect(answer.status == 200 && answer.field("Access-Control-Allow-Origin") == "*")
    #expect(answer.field("Access-Control-Allow-Credentials") == nil)
    let login = try await site.send("POST /_session", body: #"{"name":"ann","password":"pw"}"#)
    let cookie = try #require(login.cookie)
    #expect(try await site.send("GET /notes", cookie).status == 200)
    #expect(try await site.send("GET /notes", page, cookie).status == 401)
  }

  @Test(
    arguments: [
      ("https://App.Example", "https://app.example"), ("http://localhost:3000/", "http://localhost:3000"),
      ("https://a.example:443", "https://a.example"), ("http://a.example:80", "http://a.example"),
      ("http://[::1]:8000", "http://[::1]:8000"), ("app.example", nil), ("https://a.example/path", nil),
      ("https://u@a.example", nil), ("https://a.example?q=1", nil), ("ftp://a.example", nil), ("null", nil),
    ] as [(String, String?)])
  func `an origin is written as browsers write it`(text: String, origin: String?) {
    #expect(AllowedOrigins.normalized(text) == origin)
  }

  @Test(
    arguments: [
      ("192.0.2.7:5984", nil, 200), ("[2001:db8::1]", nil, 200), ("db.example", nil, 200),
      ("DB.example:5984", nil, 200), ("evil.example", nil, 403), ("192.0.2.7.evil.example", nil, 403),
      ("192.0.2", nil, 403), ("192.0.2.256", nil, 403), ("+1.0.2.7", nil, 403),
      ("192.0.2.7:5984", "http://192.0.2.7:5984", 200), ("192.0.2.7:5984", "http://192.0.2.8:5984", 403),
      ("192.0.2.7:5984", "http://192.0.2.7:80", 403), ("192.0.2.7:5984", "https://db.example", 200),
      ("192.0.2.7:5984", "http://evil.example", 403),
    ] as [(String, String?, Int)])
  func `a server that listens at all addresses is called by an address or its name`(
    host: String, origin: String?, status: Int
  ) async throws {
    let site = try TestSite(AllowedOrigins(hosts: ["db.example"], allowsAddresses: true))
    let field = origin.map { "Origin: \($0)\r\n" } ?? ""
    let (_, served) = try await site.exchange("GET / HTTP/1.1\r\nHost: \(host)\r\n\(field)\r\n")
    #expect(served.map(\.status) == [status])
  }

  @Test func `behind a proxy, clients are told apart by the address that it names`() async throws {
    let site = try TestSite(isBehindProxy: true)
    let guess = TestSite.basic("ann", "guess")
    for n in 0..<5 {
      // The client's own value precedes it.
      let answer = try await site.send("GET /notes", guess, "X-Forwarded-For: 10.0.0.\(n), 198.51.100.1")
      #expect(answer.status == 401)
    }
    #expect(try await site.send("GET /notes", ann, "X-Forwarded-For: 198.51.100.1").status == 403)
    #expect(try await site.send("GET /notes", ann, "X-Forwarded-For: 198.51.100.2").status == 200)
    let login = try await site.send(
      "POST /_session", "X-Forwarded-For: 198.51.100.2", "X-Forwarded-Proto: https",
      body: #"{"name":"ann","password":"pw"}"#)
    #expect(login.field("Set-Cookie")?.hasSuffix("; Secure") == true)
    // Without a proxy, the field could be from anybody.
    let direct = try TestSite()
    for n in 0..<5 { _ = try await direct.send("GET /notes", guess, "X-Forwarded-For: 10.0.0.\(n)") }
    #expect(try await direct.send("GET /notes", ann, "X-Forwarded-For: 10.0.0.9").status == 403)
  }
}
