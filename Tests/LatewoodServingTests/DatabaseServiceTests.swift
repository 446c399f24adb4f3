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
      + #""_attachments":{"x":{"data":"eA==","encoding":"gzip"}}},{"_id":"c","_rev":"1-a"}]}"#
    let answer = try test.json("POST", "/notes/_bulk_docs", body)
    let errors = try (0..<2).map { try answer.element(at: $0)?.element(for: "error")?.string() }
    #expect(errors == ["illegal_docid", "bad_content_type"])
    #expect(try answer.count() == 2 && test.send("GET", "/notes/c").status == 200)
    // What a CouchDB refuses, too, is refused as it does.
    for refused in [#"{"docs":[{"_id":""}]}"#, #"{"new_edits":false,"docs":[{"_id":"b"}]}"#] {
      #expect(try test.send("POST", "/notes/_bulk_docs", refused).status == 400)
    }
  }

  @Test func `a content coding or type that cannot be answered is refused`() throws {
    let test = try TestService()
    let inline = #"{"_attachments":{"x":{"data":"eA==","encoding":"gzip"}}}"#
    #expect(try test.send("PUT", "/notes/a", inline).status == 415)
    let split = #"{"_attachments":{"x":{"data":"eA==","content_type":"text/html\r\nX-Other: 1"}}}"#
    #expect(try test.send("PUT", "/notes/a", split).status == 400)
    let parts =
      "--b\r\nContent-Type: application/json\r\n\r\n"
      + #"{"_attachments":{"x":{"follows":true,"length":1}}}"#
      + "\r\n--b\r\nContent-Encoding: gzip\r\n\r\nx\r\n--b--"
    let type = ("Content-Type", "multipart/related; boundary=b")
    #expect(try test.send("PUT", "/notes/a", parts, fields: [type]).status == 415)
    let plain = parts.replacing("Content-Encoding: gzip\r\n", with: "")
    #expect(try test.send("PUT", "/notes/a", plain, fields: [type]).status == 201)
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
