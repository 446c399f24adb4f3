import LatewoodHTTP

/// Arbitrary bytes as messages of a server and of a client: the messages are the same in one piece
/// and in many, and a message that is written again is read back equal.
final class HTTPMessageTarget: FuzzTarget {
  var words: [[UInt8]] {
    [
      "GET / HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 Continue\r\n\r\n", "Host: h\r\n", "\r\n\r\n",
      "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "5\r\nabcde\r\n", "0\r\n\r\n", "; a=b", "\r",
      "\n",
      "Connection: close\r\n", "18446744073709551615", "HTTP/1.0",
    ]
    .map { Array($0.utf8) }
  }

  func run(_ input: UnsafeRawBufferPointer) {
    let bytes = Array(input)
    for isServer in [true, false] {
      let whole = read(bytes, pieceLength: max(bytes.count, 1), isServer)
      for pieceLength in [1, 3] where read(bytes, pieceLength: pieceLength, isServer) != whole {
        find("pieces of \(pieceLength) bytes are read as other messages")
      }
      for case .request(let head) in whole.events { write(head) }
    }
    readTexts(bytes)
  }

  private struct Outcome: Equatable {
    enum Event: Equatable {
      case request(HTTPRequestHead)
      case response(HTTPResponseHead)
      case body([UInt8])
      case failed(HTTPError.Kind)
    }
    var events: [Event] = []
  }

  private func read(_ bytes: [UInt8], pieceLength: Int, _ isServer: Bool) -> Outcome {
    var parser = HTTPParser(isServer: isServer)
    var outcome = Outcome()
    var body: [UInt8] = []
    do throws(HTTPError) {
      for start in stride(from: 0, to: bytes.count, by: pieceLength) {
        let piece = Array(bytes[start..<min(start + pieceLength, bytes.count)])
        var offset = 0
        while let event = try parser.next(piece, &offset) {
          switch event {
          case .request(let head): outcome.events.append(.request(head))
          case .response(let head): outcome.events.append(.response(head))
          case .data(let range): body += piece[range]
          case .end:
            outcome.events.append(.body(body))
            body = []
          }
        }
      }
      if try parser.close() != nil { outcome.events.append(.body(body)) }
    } catch { outcome.events.append(.failed(error.kind)) }
    return outcome
  }

  private func write(_ head: HTTPRequestHead) {
    var bytes: [UInt8] = []
    do throws(HTTPError) {
      try HTTPEncoding.append(head, to: &bytes)
    } catch { find("a head that was read cannot be written: \(error)") }
    var parser = HTTPParser(isServer: true)
    var offset = 0
    do throws(HTTPError) {
      guard case .request(var again) = try parser.next(bytes, &offset) else { find("a head is incomplete") }
      // An unknown minor version is written as the version of this library.
      again.version = head.version
      if again != head { find("a head is read back as another") }
    } catch { find("a head that was written is refused: \(error)") }
    if let target = HTTPTarget(parsing: head.target), HTTPTarget(parsing: target.text) != target {
      find("a target is read back as another")
    }
  }

  private func readTexts(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    tolerate { _ = try HTTPURL(parsing: text) }
    _ = HeaderValue(text)
  }
}

/// Arbitrary bytes as a multipart body with the boundary `b`: the parts are the same in one piece
/// and in many, and parts that are written again are read back equal.
final class MultipartTarget: FuzzTarget {
  var words: [[UInt8]] {
    [
      "\r\n--b\r\n", "--b\r\n", "\r\n--b--", "\r\n\r\n", "Content-Type: a/b\r\n", "\r\n--b \t\r\n", "--bb",
      "\r", "\n",
    ]
    .map { Array($0.utf8) }
  }

  func run(_ input: UnsafeRawBufferPointer) {
    let bytes = Array(input)
    let whole = read(bytes, pieceLength: max(bytes.count, 1))
    for pieceLength in [1, 2, 5] where read(bytes, pieceLength: pieceLength) != whole {
      find("pieces of \(pieceLength) bytes are read as other parts")
    }
    guard let whole, whole.hasEnded, !whole.parts.isEmpty else { return }
    let writer = MultipartWriter(boundary: "b")
    var again: [UInt8] = []
    do throws(HTTPError) {
      for (index, part) in whole.parts.enumerated() {
        again += try writer.begin(part.fields, isFirst: index == 0) + part.bytes
      }
    } catch { find("a part that was read cannot be written: \(error)") }
    again += writer.end
    if read(again, pieceLength: again.count) != whole { find("parts are read back as others") }
  }

  private struct Parts: Equatable {
    struct Part: Equatable {
      var fields: HTTPFields
      var bytes: [UInt8] = []
    }
    var parts: [Part] = []
    var hasEnded = false
  }

  private func read(_ bytes: [UInt8], pieceLength: Int) -> Parts? {
    var parts = Parts()
    do throws(HTTPError) {
      var parser = try MultipartParser(boundary: "b")
      for start in stride(from: 0, to: bytes.count, by: pieceLength) {
        parser.append(bytes[start..<min(start + pieceLength, bytes.count)])
        while let event = try parser.next() {
          switch event {
          case .part(let fields): parts.parts.append(Parts.Part(fields: fields))
          case .data(let data): parts.parts[parts.parts.count - 1].bytes += data
          case .end: parts.hasEnded = true
          }
        }
      }
      return parts
    } catch { return nil }
  }
}
