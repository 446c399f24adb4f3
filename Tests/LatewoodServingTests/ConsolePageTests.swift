import LatewoodConcurrency
import LatewoodCrypto
import LatewoodFleece
import LatewoodHTTP
import LatewoodHTTPScripts
import LatewoodServing
import Testing

/// The page as the server sends it. `Tests/console/browser.py` uses it in a browser.
@Suite struct ConsolePageTests {
  /// Returns the part of a text between two others, which must occur once.
  private func part(of text: String, from start: String, to end: String) throws -> String {
    let halves = text.split(separator: start, omittingEmptySubsequences: false)
    #expect(halves.count == 2, "\(start)")
    return String(try #require(halves.last?.split(separator: end, omittingEmptySubsequences: false).first))
  }

  private func source(_ text: String) -> String {
    var hash = SHA256()
    Array(text.utf8).withUnsafeBytes { hash.update($0) }
    return "'sha256-\(Base64.encode(hash.digest()))'"
  }

  @Test func `the policy allows one script and one style, and requests to this server only`() throws {
    let page = try TestService().send("GET", "/_utils/")
    #expect(page.status == 200 && page.fields["Content-Type"] == "text/html; charset=utf-8")
    let script = source(try part(of: page.text, from: "<script type=\"module\">", to: "</script>"))
    let style = source(try part(of: page.text, from: "<style>", to: "</style>"))
    for bad in ["</", "<!--"] {
      #expect(try !part(of: page.text, from: "<script type=\"module\">", to: "</script>").contains(bad))
      #expect(try !part(of: page.text, from: "<style>", to: "</style>").contains(bad))
    }
    let policy = try #require(page.fields["Content-Security-Policy"])
    #expect(
      policy.split(separator: "; ") == [
        "default-src 'none'", "script-src \(script)", "style-src \(style)", "connect-src 'self'",
        "img-src 'self' data:", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'",
        "require-trusted-types-for 'script'", "trusted-types 'none'",
      ])
    #expect(page.fields["Referrer-Policy"] == "same-origin")
    #expect(page.fields["Cross-Origin-Opener-Policy"] == "same-origin")
  }

  @Test func `a browser does not guess the type of the page`() async throws {
    let service = try TestService().service
    let (client, server) = MemoryChannel.pair()
    async let run: Void = ServerConnection(server) { service.respond(to: $0) }.run()
    let request = "GET /_utils/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    try await client.write(Array(request.utf8))
    var answer: [UInt8] = []
    while let piece = try await client.read() { answer += piece }
    await run
    #expect(String(decoding: answer, as: UTF8.self).contains("\r\nX-Content-Type-Options: nosniff\r\n"))
  }

  @Test(arguments: [
    "http:", "https:", "url(", "@import", "import ", "import(", "innerHTML", "outerHTML",
    "insertAdjacentHTML", "document.write", "eval(", "Function(", "javascript:", "srcdoc", "DOMParser",
    "createContextualFragment", "setHTMLUnsafe", "<script src", "<iframe", "<form", " onclick=", " style=",
  ])
  func `the page has no outside source, and nothing that parses markup`(text: String) throws {
    let page = try TestService().send("GET", "/_utils/").text
    // A comment begins with two slashes, too.
    #expect(!page.contains(text))
  }

  @Test func `addresses in the page are of the page itself, or data`() throws {
    let page = try TestService().send("GET", "/_utils/").text
    let markup = try part(of: page, from: "</style>", to: "<script type=\"module\">")
    for attribute in ["href=\"", "src=\"", "action=\""] {
      for address in (page.split(separator: "<style>")[0] + markup).split(separator: attribute).dropFirst() {
        #expect(address.hasPrefix("#/") || address.hasPrefix("data:image/svg+xml,"), "\(address.prefix(80))")
      }
    }
  }

  @Test func `a browser that has the page is not sent it again`() throws {
    let test = try TestService()
    let tag = try #require(try test.send("GET", "/_utils/").fields["ETag"])
    let again = try test.send("GET", "/_utils/", fields: [("If-None-Match", tag)])
    #expect(again.status == 304 && again.body.isEmpty && again.fields["ETag"] == tag)
    #expect(try test.send("GET", "/_utils/", fields: [("If-None-Match", "\"other\"")]).status == 200)
  }

  @Test func `the page has one address, which ends with a slash`() throws {
    let test = try TestService()
    let redirect = try test.send("GET", "/_utils")
    #expect(redirect.status == 301 && redirect.fields["Location"] == "_utils/")
    #expect(try test.send("GET", "/_utils/index.html").status == 404)
    #expect(try test.send("GET", "/_utils/file/x").status == 404)
    #expect(try test.send("PUT", "/_utils/").status == 405)
    let (get, head) = (try test.send("GET", "/_utils/"), try test.send("HEAD", "/_utils/"))
    #expect(head.fields == get.fields && head.body.isEmpty && head.length == UInt64(get.body.count))
  }

  @Test func `the page gets the sizes that the store reports`() throws {
    let test = try TestService()
    #expect(try test.send("PUT", "/notes/a", "{}").status == 201)
    let facts = try test.store.store.statistics()
    let shown = try test.send("GET", "/_utils/file").text
    #expect(facts.fileSize > 0 && shown.contains("\"fileSize\":\(facts.fileSize),"))
    #expect(facts.logBytes > 0 && shown.contains("\"logBytes\":\(facts.logBytes),"))
    #expect(shown.contains("\"transaction\":\(facts.transaction),"))
    #expect(shown.contains("\"isEncrypted\":\(test.store.isEncrypted),"))
  }
}
