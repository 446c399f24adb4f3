import Testing

@testable import LatewoodHTTP

@Suite struct HTTPParserTests {
  private func requests(_ text: String, cuts: [Int] = []) -> ReadMessages {
    ReadMessages(Array(text.utf8), cuts: cuts, isServer: true)
  }

  private func responses(_ text: String, cuts: [Int] = [], method: String = "GET") -> ReadMessages {
    ReadMessages(Array(text.utf8), cuts: cuts, isServer: false, method: method)
  }

  @Test func `requests follow each other on a connection`() {
    let read = requests(
      """
      POST /db/_revs_diff?a=b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}\
      PUT /db/a HTTP/1.1\r\nhost:h\r\nTransfer-Encoding: Chunked\r\n\r\n\
      3\r\nabc\r\nA ; x=y\r\n0123456789\r\n0\r\nDigest: 1\r\n\r\n\
      \r\nGET / HTTP/1.0\r\n\r\n
      """)
    #expect(read.error == nil)
    #expect(
      read.heads == [
        "POST /db/_revs_diff?a=b [\"h\", \"2\"]", "PUT /db/a [\"h\", \"Chunked\"]", "GET / []",
      ])
    #expect(read.bodies == ["{}", "abc0123456789", ""])
  }

  @Test func `the body of a response depends on its status, method and fields`() {
    #expect(responses("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc").bodies == ["abc"])
    #expect(responses("HTTP/1.1 200 OK\r\n\r\nabc").bodies == ["abc"])
    #expect(responses("HTTP/1.1 200\r\n\r\n").bodies == [""])
    #expect(responses("HTTP/1.1 304 x\r\nContent-Length: 3\r\n\r\n").bodies == [""])
    #expect(responses("HTTP/1.1 204 x\r\n\r\n").bodies == [""])
    #expect(responses("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", method: "HEAD").bodies == [""])
    let interim = responses("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
    #expect(interim.interim == [100] && interim.bodies == [""])
  }

  @Test func `messages do not depend on where the pieces end`() {
    let text = Array(
      """
      HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
      4\r\na\r\nb\r\n0\r\n\r\nHTTP/1.1 500 Oh no\r\nContent-Length: 5\r\nX:  y \r\n\r\n12345\
      HTTP/1.1 200 OK\r\n\r\nrest
      """.utf8)
    let whole = ReadMessages(text, isServer: false)
    #expect(whole.bodies == ["a\r\nb", "12345", "rest"] && whole.error == nil)
    for first in 0...text.count {
      for second in stride(from: first, through: text.count, by: 7) {
        #expect(ReadMessages(text, cuts: [first, second], isServer: false) == whole)
      }
    }
    #expect(ReadMessages(text, cuts: Array(0..<text.count), isServer: false) == whole)
  }

  @Test func `a message that is cut at any byte is truncated`() {
    let text = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".utf8)
    #expect(ReadMessages([], isServer: false).error == nil)
    for length in 1..<text.count {
      #expect(ReadMessages(Array(text[..<length]), isServer: false).error == .truncated)
    }
    #expect(responses("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc").error == .truncated)
  }

  @Test(arguments: [
    "Content-Length: 1\r\nContent-Length: 2\r\n", "Content-Length: 1\r\nContent-Length: 1\r\n",
    "Content-Length: 1, 1\r\n", "Content-Length: +1\r\n", "Content-Length: -1\r\n", "Content-Length: 0x1\r\n",
    "Content-Length:\r\n", "Content-Length: 99999999999999999999\r\n",
    "Content-Length: 18446744073709551615\r\n",
    "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "Content-Length : 1\r\n", " Content-Length: 1\r\n",
    "X: y\r\n Content-Length: 1\r\n", "X: y\r\n\tz\r\n", "X: y\nContent-Length: 1\r\n",
    "X: y\rContent-Length: 1\r\n", "X\r\n", ": y\r\n", "X y: z\r\n", "X: a\0b\r\n", "X: a\u{7F}\r\n",
    "Host: other\r\n", "X: y\r\n\r", "(x): y\r\n",
  ])
  func `a header that could be read in two ways is refused`(fields: String) {
    let read = requests("GET / HTTP/1.1\r\nHost: h\r\n\(fields)\r\n#")
    #expect(read.error == .malformed)
    #expect(read.heads.isEmpty)
  }

  @Test(arguments: ["gzip, chunked", "gzip", "identity", "chunked, chunked", "xchunked", "chunked;q=1"])
  func `transfer codings other than chunked are refused`(coding: String) {
    let read = requests("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \(coding)\r\n\r\n0\r\n\r\n")
    #expect(read.error == .unsupported && read.heads.isEmpty)
  }

  @Test(arguments: [
    "GET /\r\n\r\n", "GET  / HTTP/1.1\r\n", "GET / HTTP/1.1 \r\n", " GET / HTTP/1.1\r\n",
    "G(T / HTTP/1.1\r\n",
    "GET /\u{e9} HTTP/1.1\r\n", "GET / http/1.1\r\n", "GET / HTTP/11\r\n", "GET / HTTP/1.1\n",
    "GET / HTTP/1.1\r\n\r\n", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "\r\n\r\nGET /",
  ])
  func `a request line that is not exactly three parts is refused`(text: String) {
    #expect(requests(text + "#").error == .malformed)
  }

  @Test func `other versions are refused`() {
    #expect(requests("GET / HTTP/2.0\r\n").error == .unsupported)
    #expect(responses("HTTP/1.1 101 Switching\r\n\r\n").error == .unsupported)
    #expect(responses("<html>\r\n").error == .malformed)
    #expect(responses("HTTP/1.1 099 x\r\n").error == .malformed)
    #expect(responses("HTTP/1.1 600 x\r\n").error == .malformed)
  }

  @Test(arguments: [
    "\r\n", "g\r\n", "-1\r\n", "+1\r\n", "0x1\r\na\r\n", "1 1\r\na\r\n", "1\na\r\n", "1\r\nab\r\n",
    "1\r\na0\r\n", "1;\u{1}\r\na\r\n",
  ])
  func `a chunk that could be read in two ways is refused`(chunk: String) {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    let read = responses(head + chunk + "0\r\n\r\n")
    #expect(read.error == .malformed || read.error == .tooLarge)
    #expect(read.bodies.isEmpty)
  }

  @Test func `every limit is exact to the byte`() {
    func error(_ text: String, _ limits: HTTPLimits) -> HTTPError.Kind? {
      var parser = HTTPParser(isServer: true, limits: limits)
      var offset = 0
      do throws(HTTPError) {
        while try parser.next(Array(text.utf8), &offset) != nil {}
        return nil
      } catch { return error.kind }
    }
    var limits = HTTPLimits()
    let line = "GET /abc HTTP/1.1"
    for (limit, expected) in [(line.utf8.count, nil), (line.utf8.count - 1, HTTPError.Kind.tooLarge)] {
      limits.startLine = limit
      #expect(error("\(line)\r\nHost: h\r\n\r\n", limits) == expected)
    }
    limits = HTTPLimits()
    for (limit, expected) in [(13, nil), (12, HTTPError.Kind.tooLarge)] {
      limits.fields = limit
      #expect(error("\(line)\r\nHost: h\r\nX: 123\r\n\r\n", limits) == expected)
    }
    limits = HTTPLimits()
    for (limit, expected) in [(2, nil), (1, HTTPError.Kind.tooLarge)] {
      limits.fieldCount = limit
      #expect(error("\(line)\r\nHost: h\r\nX: 123\r\n\r\n", limits) == expected)
    }
    limits = HTTPLimits()
    for (limit, expected) in [(5, nil), (4, HTTPError.Kind.tooLarge)] {
      limits.chunkLine = limit
      let head = "\(line)\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      #expect(error("\(head)1;a=b\r\na\r\n0\r\n\r\n", limits) == expected)
    }
    let chunks = "\(line)\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    #expect(error("\(chunks)fffffffffffffffff\r\n", HTTPLimits()) == .tooLarge)
  }

  @Test func `a parser that has failed stays failed`() {
    var parser = HTTPParser(isServer: true)
    var offset = 0
    #expect(throws: HTTPError.self) { try parser.next(Array("GET /\n".utf8), &offset) }
    offset = 0
    #expect(throws: HTTPError.self) { try parser.next(Array("GET / HTTP/1.1\r\n".utf8), &offset) }
    #expect(throws: HTTPError.self) { try parser.close() }
  }

  @Test func `a written message is read back`() throws {
    var head = HTTPRequestHead("PUT", "/db/a%20b?new_edits=false")
    head.fields.add("Host", "h")
    head.fields.add("Transfer-Encoding", "chunked")
    var bytes: [UInt8] = []
    try HTTPEncoding.append(head, to: &bytes)
    HTTPEncoding.appendChunk(Array("0123456789abcdef".utf8), to: &bytes)
    HTTPEncoding.appendChunk([], to: &bytes)
    bytes += HTTPEncoding.lastChunk
    let read = ReadMessages(bytes, isServer: true)
    #expect(read.heads == ["PUT /db/a%20b?new_edits=false [\"h\", \"chunked\"]"])
    #expect(read.bodies == ["0123456789abcdef"] && read.error == nil)
  }

  @Test(arguments: ["a\r\nX: y", "a\n", "a\0"])
  func `a value cannot add a field`(value: String) {
    var bytes: [UInt8] = []
    let fields = HTTPFields([("X", value)])
    #expect(throws: HTTPError.self) { try HTTPEncoding.append(fields, to: &bytes) }
    let head = HTTPRequestHead("GET", "/\(value)")
    #expect(throws: HTTPError.self) { try HTTPEncoding.append(head, to: &bytes) }
  }

  @Test func `the version and the fields decide whether a connection is kept`() {
    #expect(HTTPFraming.keepsConnection(HTTPFields(), .http11))
    #expect(!HTTPFraming.keepsConnection(HTTPFields(), .http10))
    #expect(HTTPFraming.keepsConnection(HTTPFields([("connection", "x, Keep-Alive")]), .http10))
    #expect(!HTTPFraming.keepsConnection(HTTPFields([("Connection", "Close")]), .http11))
  }
}
