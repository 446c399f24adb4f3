import Testing

@testable import LatewoodHTTP

@Suite struct TargetTests {
  @Test func `a target is its segments and items`() throws {
    let target = try #require(HTTPTarget(parsing: "/db/a%2Fb%20c+d?rev=1-x&open_revs=%5B%22a+b%22%5D&x"))
    #expect(target.segments == ["db", "a/b c+d"])
    #expect(target["rev"] == "1-x" && target["open_revs"] == "[\"a b\"]" && target["x"] == "")
    #expect(HTTPTarget(parsing: target.text) == target)
    #expect(HTTPTarget(parsing: "/")?.segments == [""])
    #expect(
      HTTPTarget(["db", "ä?&=/"], query: [.init("k&", "é=")]).text == "/db/%C3%A4%3F%26%3D%2F?k%26=%C3%A9%3D")
  }

  @Test(arguments: ["", "db", "?x", "/%", "/%1", "/%zz", "/%ff", "/a?%", "*"])
  func `a target that is not percent-encoded is refused`(text: String) {
    #expect(HTTPTarget(parsing: text) == nil)
  }

  @Test func `a URL has an origin, a path and perhaps credentials`() throws {
    let url = try HTTPURL(parsing: "HTTP://us%40er:p%3Aw@Example.com:5984/a%2Fb/?x=y#z")
    #expect(url.origin == HTTPOrigin(host: "example.com", port: 5984))
    #expect(url.credentials == BasicCredentials(name: "us@er", password: "p:w"))
    #expect(url.target == HTTPTarget(["a/b", ""], query: [.init("x", "y")]))
    #expect(
      try HTTPURL(parsing: "https://[::1]/db").origin == HTTPOrigin(isSecure: true, host: "::1", port: 443))
    #expect(try HTTPURL(parsing: "http://[::1]:80/db").origin.authority == "[::1]")
    #expect(try HTTPURL(parsing: "http://h?x=1").target == HTTPTarget([""], query: [.init("x", "1")]))
    #expect(try HTTPURL(parsing: "http://h:/").origin.port == 80)
  }

  @Test(arguments: [
    "", "db", "http:/h", "http://", "http:///db", "ftp://h/", "http://h:0/", "http://h:65536/", "http://h:a/",
    "http://[::1/", "http://[::1]x/", "http://a b/", "http://h/\n", "http://h/%", "http://a:secret%@h/",
    "http://a:secret@h<x/",
  ])
  func `a URL that is not valid is refused without repeating it`(text: String) {
    do throws(HTTPError) {
      _ = try HTTPURL(parsing: text)
      Issue.record("accepted")
    } catch { #expect(!error.description.contains("secret")) }
  }

  @Test func `credentials are sent in Base64 and never described`() {
    let credentials = BasicCredentials(name: "Aladdin", password: "open sesame")
    #expect(credentials.authorization == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
    #expect(BasicCredentials(authorization: "basic  QWxhZGRpbjpvcGVuIHNlc2FtZQ==") == credentials)
    #expect(BasicCredentials(authorization: "Bearer abc") == nil)
    #expect(BasicCredentials(authorization: "Basic !!!!") == nil)
    #expect(!"\(credentials) \(String(reflecting: credentials))".contains("sesame"))
    #expect(!"\([credentials])\(Optional(credentials) as Any)".contains("sesame"))
  }

  @Test func `a header value has parameters`() throws {
    let value = try #require(HeaderValue("Multipart/Related ; boundary=\"a\\\"b;c\" ;; Charset=utf-8"))
    #expect(value.value == "multipart/related")
    #expect(value["boundary"] == "a\"b;c" && value["charset"] == "utf-8" && value["x"] == nil)
    #expect(HeaderValue("attachment; filename=\(HeaderValue.quote("a\"\\ä"))")?["filename"] == "a\"\\ä")
    for bad in ["", ";a=b", "a; b", "a; =b", "a; b=", "a; b=\"c", "a b", "a; b=c d"] {
      #expect(HeaderValue(bad) == nil, "\(bad)")
    }
  }
}
