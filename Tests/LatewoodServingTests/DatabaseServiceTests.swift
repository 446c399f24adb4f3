import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP
import LatewoodSimulation
import Testing

@testable import LatewoodServing

@Suite struct DatabaseServiceTests {
  @Test func `a client that reads and writes a document keeps the blobs in its body`() throws {
    let test = try TestService()
    let blob = try test.store.putBlob(Array("picture".utf8))
    let photo = #"{"@type":"blob","digest":"\#(blob.digest.text)","length":7,"content_type":"image/png"}"#
    #expect(try test.send("PUT", "/notes/a", #"{"n":1,"photo":\#(photo)}"#).status == 201)
    let read = try test.send("GET", "/notes/a")
    #expect(read.text.contains("blob_/photo"))
    #expect(try test.send("PUT", "/notes/a", read.text.replacing("\"n\":1", with: "\"n\":2")).status == 201)
    let again = try test.json("GET", "/notes/a")
    #expect(try again.element(for: "n")?.natural() == 2)
    #expect(try again.element(for: "photo")?.element(for: "digest")?.string() == blob.digest.text)
    #expect(try test.send("GET", "/notes/a/blob_%2Fphoto").text == "picture")
  }

  @Test func `a document that is refused does not prevent the others`() throws {
    let test = try TestService()
    #expect(try test.send("PUT", "/notes/a", "{}").status == 201)
    let docs =
      #"{"docs":[{"_id":"a","n":1},{"_id":"b"},{"_id":"c","_attachments":{"x":{"stub":true}}},{"_id":"d"}]}"#
    let outcomes = try test.json("POST", "/notes/_bulk_docs", docs)
    let errors = try (outcomes.elements() ?? []).map { try $0.element(for: "error")?.string() ?? "" }
    #expect(errors == ["conflict", "", "missing_stub", ""])
    #expect(try test.json("GET", "/notes").element(for: "doc_count")?.natural() == 3)
  }

  @Test func `a document that is not valid prevents the whole request`() throws {
    let test = try TestService()
    for document in ["1", #"{"_id":3}"#, #"{"_id":"_x"}"#, #"{"_rev":"x"}"#, #"{"_x":1}"#, #"{"_id":""}"#] {
      let answer = try test.send("POST", "/notes/_bulk_docs", #"{"docs":[{"_id":"a"},\#(document)]}"#)
      #expect(answer.status == 400, "\(document)")
    }
    #expect(try test.json("GET", "/notes").element(for: "doc_count")?.natural() == 0)
  }

  @Test func `the pages of a feed have each change once`() throws {
    let test = try TestService()
    for n in 0..<10 { #expect(try test.send("PUT", "/notes/d\(n)", "{}").status == 201) }
    var (since, ids, pending) = ("0", [String](), [UInt64]())
    for _ in 0..<5 {
      let page = try test.json("GET", "/notes/_changes?limit=3&since=\(since)")
      since = try #require(try page.element(for: "last_seq")?.string())
      pending.append(try #require(try page.element(for: "pending")?.natural()))
      let rows = try page.element(for: "results")?.elements() ?? []
      ids += try rows.compactMap { try $0.element(for: "id")?.string() }
    }
    #expect(ids == (0..<10).map { "d\($0)" })
    #expect(pending == [7, 4, 1, 0, 0])
  }

  @Test func `a sequence of another database is refused`() throws {
    let test = try TestService()
    #expect(try test.send("PUT", "/others").status == 201)
    let other = try test.json("GET", "/others").element(for: "update_seq")?.string() ?? ""
    #expect(try test.send("GET", "/others/_changes?since=\(other)").status == 200)
    for since in [other, "1", "-1-x", "99999999999999999999-x", "x", ""] {
      #expect(try test.send("GET", "/notes/_changes?since=\(since)").status == 400, "\(since)")
    }
  }

  @Test(arguments: [
    ("0-0", 206, "a"), ("3-5", 206, "def"), ("7-7", 206, "h"), ("7-8", 206, "h"), ("-1", 206, "h"),
    ("-8", 206, "abcdefgh"), ("-9", 206, "abcdefgh"), ("2-", 206, "cdefgh"), ("2-1", 200, "abcdefgh"),
    ("0-1,3-4", 200, "abcdefgh"), ("x", 200, "abcdefgh"), ("--1", 200, "abcdefgh"), ("1-x", 200, "abcdefgh"),
    ("0-18446744073709551615", 206, "abcdefgh"), ("0-18446744073709551616", 200, "abcdefgh"),
  ])
  func `a range is a part of an attachment`(range: String, status: Int, content: String) throws {
    let test = try TestService()
    #expect(
      try test.send("PUT", "/notes/a/x", "abcdefgh", fields: [("Content-Type", "text/plain")]).status == 201)
    let answer = try test.send("GET", "/notes/a/x", fields: [("Range", "bytes=\(range)")])
    #expect(answer.status == status && answer.text == content)
  }

  @Test(arguments: ["8-", "8-9", "-0"]) func `a range after the end is refused`(range: String) throws {
    let test = try TestService()
    #expect(
      try test.send("PUT", "/notes/a/x", "abcdefgh", fields: [("Content-Type", "text/plain")]).status == 201)
    #expect(try test.send("GET", "/notes/a/x", fields: [("Range", "bytes=\(range)")]).status == 416)
  }

  @Test func `the attachments of a document are copied with it`() throws {
    let test = try TestService()
    #expect(try test.send("PUT", "/notes/a/x", "abc").status == 201)
    #expect(try test.send("COPY", "/notes/a", fields: [("Destination", "b")]).status == 201)
    #expect(try test.send("GET", "/notes/b/x").text == "abc")
    #expect(try test.send("COPY", "/notes/a", fields: [("Destination", "b")]).status == 409)
  }

  @Test func `names that cannot be in a header are refused`() throws {
    let test = try TestService()
    #expect(try test.send("PUT", "/notes/a/x%0D%0Ay", "abc").status == 400)
    let inline = #"{"_attachments":{"x\r\ny":{"data":"eA=="}}}"#
    #expect(try test.send("PUT", "/notes/a", inline).status == 400)
  }

  @Test func `attachments and ids whose names only look the same are different`() throws {
    let test = try TestService()
    let composed = #"{"_attachments":{"\u00e9":{"data":"QUFB"},"e\u0301":{"data":"QkI="}}}"#
    #expect(try test.send("PUT", "/notes/a", composed).status == 201)
    #expect(try test.send("GET", "/notes/a/%C3%A9").text == "AAA")
    #expect(try test.send("GET", "/notes/a/e%CC%81").text == "BB")
    #expect(try test.send("PUT", "/notes/b/%C3%A9", "one").status == 201)
    let revision = try #require(try test.json("GET", "/notes/b").element(for: "_rev")?.string())
    #expect(try test.send("PUT", "/notes/b/e%CC%81?rev=\(revision)", "two").status == 201)
    #expect(try test.send("GET", "/notes/b/%C3%A9").text == "one")
    #expect(try test.send("PUT", "/notes/%C3%A9", "{}").status == 201)
    #expect(try test.send("PUT", "/notes/e%CC%81", "{}").status == 201)
    let changes = try test.json("POST", "/notes/_changes?filter=_doc_ids", #"{"doc_ids":["\u00e9"]}"#)
    #expect(try changes.element(for: "results")?.count() == 1)
  }

  @Test func `a document that is refused does not stop a replication`() throws {
    let test = try TestService()
    let long = String(repeating: "x", count: 8001)
    let body =
      #"{"new_edits":false,"docs":[{"_id":"\#(long)","_rev":"1-a"},{"_id":"a","_rev":"1-a","#
      + #""_attachments":{"x":{"follows":true,"encoding":"br"}}},{"_id":"c","_rev":"1-a"},"#
      + #"{"_id":"d","_rev":"1-\#(String(repeating: "y", count: 100))"}]}"#
    let answer = try test.json("POST", "/notes/_bulk_docs", body)
    let errors = try (0..<3).map { try answer.element(at: $0)?.element(for: "error")?.string() }
    #expect(errors == ["illegal_docid", "bad_content_type", "bad_request"])
    #expect(try answer.count() == 3 && test.send("GET", "/notes/c").status == 200)
    // What a CouchDB refuses, too, is refused as it does.
    for refused in [#"{"docs":[{"_id":""}]}"#, #"{"new_edits":false,"docs":[{"_id":"b"}]}"#] {
      #expect(try test.send("POST", "/notes/_bulk_docs", refused).status == 400)
    }
  }

  @Test func `a content coding or type that cannot be answered is refused`() throws {
    let test = try TestService()
    // Data in JSON are never compressed.
    let inline = #"{"_attachments":{"x":{"data":"eA==","encoding":"gzip"}}}"#
    #expect(try test.send("PUT", "/notes/inline", inline).status == 201)
    #expect(try test.send("GET", "/notes/inline/x").text == "x")
    let split = #"{"_attachments":{"x":{"data":"eA==","content_type":"text/html\r\nX-Other: 1"}}}"#
    #expect(try test.send("PUT", "/notes/a", split).status == 400)
    let parts =
      "--b\r\nContent-Type: application/json\r\n\r\n"
      + #"{"_attachments":{"x":{"follows":true,"length":1}}}"#
      + "\r\n--b\r\nContent-Encoding: gzip\r\n\r\nx\r\n--b--"
    let type = ("Content-Type", "multipart/related; boundary=b")
    #expect(try test.send("PUT", "/notes/a", parts, fields: [type]).status == 400)
    let other = parts.replacing("Encoding: gzip", with: "Encoding: br")
    #expect(try test.send("PUT", "/notes/a", other, fields: [type]).status == 415)
    let plain = parts.replacing("Content-Encoding: gzip\r\n", with: "")
    #expect(try test.send("PUT", "/notes/a", plain, fields: [type]).status == 201)
  }

  /// `hello attachments ` forty times, as a CouchDB compresses it.
  private static let gzip =
    Base64.decode("H4sIAAAAAAACA8tIzcnJV0gsKUlMzshNzSspVsgYFRkVGbIiAIkTJHLQAgAA".utf8) ?? []

  @Test func `compressed attachments of a CouchDB are stored plain, and keep their digests`() throws {
    let test = try TestService()
    let plain = String(repeating: "hello attachments ", count: 40)
    func push(_ id: String, _ length: Int, _ encodedLength: Int) -> APIResponse {
      let facts =
        #"{"content_type":"text/plain","revpos":1,"digest":"md5-hXVOXSNsiwEj/ijx44Sb5w==","#
        + #""length":\#(length),"follows":true,"encoding":"gzip","encoded_length":\#(encodedLength)}"#
      let head =
        "--b\r\nContent-Type: application/json\r\n\r\n"
        + #"{"_id":"\#(id)","_rev":"1-a","_attachments":{"t.txt":\#(facts)}}"#
        + "\r\n--b\r\nContent-Disposition: attachment; filename=\"t.txt\"\r\nContent-Encoding: gzip\r\n\r\n"
      let fields = HTTPFields([("Content-Type", "multipart/related; boundary=b")])
      return test.service.respond(
        to: APIRequest(
          "PUT", "/notes/\(id)?new_edits=false", fields: fields,
          body: Array(head.utf8) + Self.gzip + Array("\r\n--b--".utf8)))
    }
    #expect(push("a", 720, 45).status == 201)
    for (length, encodedLength) in [(719, 45), (721, 45), (720, 44), (720, 46)] {
      #expect(push("b", length, encodedLength).status == 400, "\(length), \(encodedLength)")
    }
    let read = try test.send("GET", "/notes/a/t.txt")
    #expect(read.text == plain && read.fields["Content-Encoding"] == nil && read.fields["Content-MD5"] == nil)
    #expect(try test.send("GET", "/notes/a/t.txt", fields: [("Range", "bytes=0-4")]).text == "hello")
    let stub = try test.send("GET", "/notes/a").text
    #expect(stub.contains(#""digest":"md5-hXVOXSNsiwEj/ijx44Sb5w==","length":720,"stub":true"#), "\(stub)")
    // That digest is not the one of the bytes that are shown.
    #expect(
      try !test.send("GET", "/notes/a?attachments=true", fields: [("Accept", "application/json")]).text
        .contains("digest"))
    let later =
      #"{"new_edits":false,"docs":[{"_id":"a","_revisions":{"start":2,"ids":["b","a"]},"#
      + #""_attachments":{"t.txt":{"stub":true,"digest":"md5-hXVOXSNsiwEj/ijx44Sb5w=="}}}]}"#
    #expect(try test.json("POST", "/notes/_bulk_docs", later).count() == 0)
    #expect(try test.send("GET", "/notes/a/t.txt").text == plain)
  }

  @Test func `bodies may be compressed`() throws {
    let test = try TestService()
    func send(_ method: String, _ target: String, _ type: String, _ body: [UInt8]) -> Int {
      let fields = HTTPFields([("Content-Type", type), ("Content-Encoding", "gzip")])
      return test.service.respond(to: APIRequest(method, target, fields: fields, body: body)).status
    }
    #expect(send("PUT", "/notes/a/t.txt", "text/plain", Self.gzip) == 201)
    #expect(try test.send("GET", "/notes/a/t.txt").text.hasPrefix("hello attachments hello"))
    #expect(send("PUT", "/notes/b/t.txt", "text/plain", Array(Self.gzip.dropLast())) == 400)
    #expect(send("PUT", "/notes/c", "application/json", Self.gzip) == 400)
    // {"docs":[]}
    let documents = Base64.decode("H4sIAAAAAAACA6tWSslPLlayio6tBQB2d1+nCwAAAA==".utf8) ?? []
    #expect(send("POST", "/notes/_bulk_docs", "application/json", documents) == 201)
  }

  @Test func `a short request cannot ask for a response that does not fit into memory`() throws {
    let test = try TestService()
    let long = String(repeating: "x", count: 4000)
    #expect(try test.send("PUT", "/notes/a", #"{"text":"\#(long)"}"#).status == 201)
    let docs = Array(repeating: #"{"id":"a"}"#, count: 200).joined(separator: ",")
    let keys = Array(repeating: #""a""#, count: 200).joined(separator: ",")
    try APIResponse.$longest.withValue(200 * 4000) { () throws -> Void in
      #expect(try test.send("POST", "/notes/_bulk_get", #"{"docs":[\#(docs)]}"#).status == 413)
      for (query, status) in [("include_docs=true", 413), ("", 200)] {
        let body = #"{"keys":[\#(keys)]}"#
        #expect(try test.send("POST", "/notes/_all_docs?\(query)", body).status == status)
      }
    }
    #expect(try test.send("POST", "/notes/_bulk_get", #"{"docs":[\#(docs)]}"#).status == 200)
  }

  @Test func `a local document that is refused does not prevent the others`() throws {
    let test = try TestService()
    let long = String(repeating: "x", count: 300)
    let body =
      #"{"docs":[{"_id":"_local/\#(long)"},{"_id":"_local/a","_rev":"0-18446744073709551615"},{"_id":"b"}]}"#
    let answer = try test.json("POST", "/notes/_bulk_docs", body)
    let errors = try (0..<3).map { try answer.element(at: $0)?.element(for: "error")?.string() }
    #expect(errors == ["illegal_docid", "bad_request", nil])
    #expect(try test.send("GET", "/notes/b").status == 200)
  }

  @Test func `after a backup was restored, a client gets all changes again`() throws {
    let test = try TestService()
    for id in ["a", "b"] { #expect(try test.send("PUT", "/notes/\(id)", "{}").status == 201) }
    let changes = try test.json("GET", "/notes/_changes")
    let last = try #require(try changes.element(for: "last_seq")?.string())
    let identity = last.drop { $0 != "-" }
    for (since, count) in [(last, 0), ("0", 2), ("1000\(identity)", 2), ("\(UInt64.max)\(identity)", 2)] {
      let changes = try test.json("GET", "/notes/_changes?since=\(since)")
      #expect(try changes.element(for: "results")?.count() == count, "\(since)")
    }
    #expect(try test.send("GET", "/notes/_changes?since=%2B1\(identity)").status == 400)
  }

  @Test func `a revision that cannot be stored is missing, and its neighbours are not`() throws {
    let test = try TestService()
    #expect(try test.send("PUT", "/notes/a?new_edits=false", #"{"_rev":"1-a"}"#).status == 201)
    let odd = "2-" + String(repeating: "z", count: 100)
    let answer = try test.send(
      "POST", "/notes/_revs_diff", #"{"a":["1-a","1-b","\#(odd)"],"c":["\#(odd)"],"d":["1-d"],"e":[]}"#)
    #expect(answer.status == 200)
    #expect(
      answer.text
        == #"{"a":{"missing":["1-b","\#(odd)"]},"d":{"missing":["1-d"]},"c":{"missing":["\#(odd)"]}}"#
        + "\n")
    #expect(try test.send("POST", "/notes/_revs_diff", #"{"a":["x"]}"#).status == 400)
  }

  @Test func `a design document is named by one segment or two`() throws {
    let test = try TestService()
    #expect(try test.send("PUT", "/notes/_design%2Fx", "{}").status == 201)
    #expect(try test.send("GET", "/notes/_design/x").status == 200)
    let moved = try test.send("GET", "/notes/_design%2Fx/a%2Fb/c?rev=1-a&x=%20")
    #expect(moved.status == 301 && moved.fields["Location"] == "/notes/_design/x/a%2Fb/c?rev=1-a&x=%20")
    // A combining mark after the slash is a part of the name.
    #expect(try test.send("PUT", "/notes/_design/%CC%81x", "{}").status == 201)
    #expect(try test.send("PUT", "/notes/_local/%CC%81x", "{}").status == 201)
    let changes = try test.json("GET", "/notes/_changes?filter=_design")
    #expect(try changes.element(for: "results")?.count() == 2)
    #expect(try test.json("GET", "/notes/_design_docs").element(for: "rows")?.count() == 2)
    #expect(try test.json("POST", "/notes/_find", #"{"selector":{}}"#).element(for: "docs")?.count() == 0)
  }

  @Test(arguments: ["*", "\"x\", *", "\"x\",W/ETAG", "ETAG , \"x\""])
  func `a client that has the version gets no body`(text: String) throws {
    let test = try TestService()
    let etag = try #require(try test.send("PUT", "/notes/a", "{}").fields["ETag"])
    let field = ("If-None-Match", text.replacing("ETAG", with: etag))
    #expect(try test.send("GET", "/notes/a", fields: [field]).status == 304)
    #expect(try test.send("GET", "/notes/a", fields: [("If-None-Match", "\"x\"")]).status == 200)
  }

  @Test func `stubs name attachments of any stored revision`() throws {
    let test = try TestService()
    let first = #"{"_id":"a","_rev":"1-a","_attachments":{"x":{"data":"eA=="},"y":{"data":"eQ=="}}}"#
    let second = #"{"_id":"a","_rev":"1-b","_attachments":{"x":{"stub":true},"y":{"stub":true}}}"#
    let third = #"{"_id":"a","_rev":"1-c","_attachments":{"z":{"stub":true}}}"#
    let body = #"{"new_edits":false,"docs":[\#(first),\#(second),\#(third)]}"#
    let answer = try test.json("POST", "/notes/_bulk_docs", body)
    #expect(try answer.count() == 1)
    #expect(try answer.element(at: 0)?.element(for: "error")?.string() == "missing_stub")
    #expect(try test.send("GET", "/notes/a/y?rev=1-b").text == "y")
  }

  @Test func `a method in a field cannot take the body away`() throws {
    let test = try TestService()
    let answer = try test.send("POST", "/", fields: [("X-HTTP-Method-Override", "HEAD")])
    #expect(answer.status == 200 && !answer.body.isEmpty && answer.length == nil)
  }

  @Test func `the default collection is a database that stays`() throws {
    let test = try TestService()
    #expect(try test.send("PUT", "/_default/a", "{}").status == 201)
    #expect(try test.send("DELETE", "/_default").status == 403)
    #expect(try test.send("PUT", "/_default").status == 412)
    #expect(try test.send("GET", "/_default/a").status == 200)
    #expect(try test.send("DELETE", "/notes").status == 200)
    #expect(try test.send("GET", "/_all_dbs").text == "[\"_default\"]\n")
  }

  @Test func `an answer to HEAD has the fields of GET and no body`() throws {
    let test = try TestService()
    #expect(try test.send("PUT", "/notes/a", "{}").status == 201)
    for target in ["/", "/notes", "/notes/a", "/notes/_all_docs", "/notes/b", "/others"] {
      let (get, head) = (try test.send("GET", target), try test.send("HEAD", target))
      #expect(head.status == get.status && head.fields == get.fields && head.body.isEmpty, "\(target)")
    }
  }

  @Test func `every request has an answer`() throws {
    let test = try TestService()
    var random = SeededRandom(seed: SeededRandom.seed(3838))
    let words = [
      "notes", "_all_docs", "_changes", "_bulk_docs", "_bulk_get", "_revs_diff", "_local", "_design", "a",
      "%2F",
      "_purge", "_revs_limit", "_missing_revs", "_local_docs", "_design_docs", "_security", "x", "%00", "_up",
    ]
    let names = [
      "rev", "open_revs", "revs", "atts_since", "since", "limit", "skip", "startkey", "endkey", "key", "keys",
      "descending", "include_docs", "style", "filter", "latest", "new_edits", "conflicts", "attachments",
      "doc_ids",
    ]
    let values = [
      "true", "false", "1", "-1", "0", "18446744073709551616", "[]", "{}", "[1]", "%22a%22", "1-a", "9-",
      "now",
      "all", "all_docs", "_doc_ids", "_selector", "null", "%5B%221-a%22%5D", "281474976710657-a", "",
    ]
    let bodies = [
      "", "{}", "[]", "1", "{", #"{"docs":[{}]}"#, #"{"docs":[{"_id":"a","_rev":"1-a"}],"new_edits":false}"#,
      #"{"_revisions":{"start":281474976710656,"ids":["a","b"]}}"#, #"{"_revisions":{"start":1,"ids":[]}}"#,
      #"{"_attachments":{"x":{"data":"eA=="}}}"#, #"{"a":["1-a"]}"#, #"{"keys":["a",1]}"#, "500",
      #"{"_attachments":{"x":{"follows":true}}}"#, #"{"selector":{"a":{"$gt":1}}}"#,
      #"{"_rev":"0-18446744073709551615"}"#,
      #"{"docs":[{"id":"a","rev":"1-a"}]}"#, "\u{FFFD}", #"{"_id":"_local/x"}"#,
    ]
    let methods = ["GET", "HEAD", "PUT", "POST", "DELETE", "COPY", "X"]
    for _ in 0..<4000 {
      var target = (0..<random.below(5)).map { _ in "/" + random.pick(words) }.joined()
      if target.isEmpty { target = "/" }
      for index in 0..<random.below(4) {
        target += (index == 0 ? "?" : "&") + random.pick(names) + "=" + random.pick(values)
      }
      let method = random.pick(methods)
      if method == "DELETE", target.split(separator: "/").count < 2 { continue }
      let type = random.pick(["application/json", "text/plain", "multipart/related; boundary=b"])
      let answer = try test.send(
        method, target, random.pick(bodies),
        fields: [("Content-Type", type), ("Destination", random.pick(words))])
      #expect(
        (200..<600).contains(answer.status) && answer.status != 500, "\(method) \(target) \(random.replay)")
    }
    #expect(try test.store.verify().faults.isEmpty)
  }
}
