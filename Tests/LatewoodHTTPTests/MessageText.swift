@testable import LatewoodHTTP

/// The messages that a parser finds in a text, in a form that can be compared.
struct ReadMessages: Equatable {
  var heads: [String] = []
  var bodies: [String] = []
  var interim: [Int] = []
  var error: HTTPError.Kind?

  /// Reads bytes in pieces that end at the given offsets.
  init(_ bytes: [UInt8], cuts: [Int] = [], isServer: Bool, method: String = "GET", closes: Bool = true) {
    var parser = HTTPParser(isServer: isServer)
    parser.requestMethod = method
    var body: [UInt8] = []
    do throws(HTTPError) {
      var start = 0
      for cut in cuts + [bytes.count] {
        let piece = Array(bytes[start..<cut])
        start = cut
        var offset = 0
        while let event = try parser.next(piece, &offset) { add(event, piece, &body) }
      }
      if closes, let event = try parser.close() { add(event, [], &body) }
    } catch { self.error = error.kind }
  }

  private mutating func add(_ event: HTTPParser.Event, _ piece: [UInt8], _ body: inout [UInt8]) {
    switch event {
    case .request(let head): heads.append("\(head.method) \(head.target) \(head.fields.list.map(\.value))")
    case .response(let head) where head.isInterim: interim.append(head.status)
    case .response(let head): heads.append("\(head.status) \(head.reason) \(head.fields.list.map(\.value))")
    case .data(let range): body += piece[range]
    case .end:
      bodies.append(String(decoding: body, as: UTF8.self))
      body = []
    }
  }
}

/// The parts that a parser finds in a multipart body.
struct ReadParts: Equatable {
  var headers: [String] = []
  var parts: [String] = []
  var hasEnded = false
  var error: HTTPError.Kind?

  init(_ bytes: [UInt8], boundary: String, cuts: [Int] = []) {
    do throws(HTTPError) {
      var parser = try MultipartParser(boundary: boundary)
      var start = 0
      for cut in cuts + [bytes.count] {
        parser.append(bytes[start..<cut])
        start = cut
        while let event = try parser.next() {
          switch event {
          case .part(let fields):
            headers.append(fields.list.map { "\($0.name)=\($0.value)" }.joined(separator: ";"))
            parts.append("")
          case .data(let data): parts[parts.count - 1] += String(decoding: data, as: Unicode.ASCII.self)
          case .end: break
          }
        }
      }
      hasEnded = parser.hasEnded
    } catch { self.error = error.kind }
  }
}
