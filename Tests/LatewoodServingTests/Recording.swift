import LatewoodDevice
import LatewoodFleece
import LatewoodHTTP
import LatewoodServing
import LatewoodSimulation

/// One request to a CouchDB 3.5, with its answer.
struct Exchange {
  var number: Int
  var group: String
  var note: String
  /// Whose credentials the request has: `admin`, `none` or `wrong`.
  var auth: String
  var request: APIRequest
  var status: Int
  var fields: HTTPFields
  var body: [UInt8]
}

/// The recorded exchanges of `shared/oracles/http_api.json` next to the repository.
enum Recording {
  /// Returns the exchanges; nil if the file is not there.
  static func read() throws -> [Exchange]? {
    for place in ["..", "../.."] {
      let path = Repository.path("\(place)/shared/oracles/http_api.json")
      guard try FileVolume().exists(path) else { continue }
      let text = try Repository.read(FileVolume(), path)
      let root = try FleeceBody(written: JSON.fleece(from: text)).root
      return try (0..<(root.count() ?? 0)).compactMap { try root.element(at: $0).map(exchange) }
    }
    print("shared/oracles/http_api.json is not there; the test is skipped")
    return nil
  }

  private static func exchange(_ element: FleeceElement) throws -> Exchange {
    func text(_ element: FleeceElement, _ name: String) throws -> String {
      try element.element(for: name)?.string() ?? ""
    }
    func fields(_ element: FleeceElement) throws -> HTTPFields {
      var fields = HTTPFields()
      for (name, value) in try element.element(for: "headers")?.members() ?? [] {
        fields.add(name, try value.string() ?? "")
      }
      return fields
    }
    func body(_ element: FleeceElement) throws -> [UInt8] {
      if let text = try element.element(for: "base64")?.string() { return Base64.decode(text.utf8) ?? [] }
      return Array(try text(element, "text").utf8)
    }
    func number(_ element: FleeceElement, _ name: String) throws -> Int {
      guard case .integer(let number) = try element.element(for: name)?.number() else { return 0 }
      return Int(number)
    }
    let empty = try FleeceBody(written: JSON.fleece(from: "{}")).root
    let request = try element.element(for: "request") ?? empty
    let response = try element.element(for: "response") ?? empty
    return Exchange(
      number: try number(element, "n"), group: try text(element, "group"), note: try text(element, "note"),
      auth: try text(element, "auth"),
      request: APIRequest(
        try text(request, "method"), try text(request, "path"), fields: try fields(request),
        body: try body(request)),
      status: try number(response, "status"), fields: try fields(response), body: try body(response))
  }

  /// Returns the exceptions with their reasons, by the number of the exchange.
  ///
  /// A line of the file is a number or a range of numbers, a space and the reason. Lines that begin
  /// with `#` are remarks.
  static func exceptions() throws -> [Int: String] {
    let text = String(
      decoding: try Repository.read("Tests/LatewoodServingTests/http-api-exceptions.txt"), as: UTF8.self)
    var found: [Int: String] = [:]
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let parts = line.split(separator: " ", maxSplits: 1)
      let ends = parts[0].split(separator: "-").compactMap { Int($0) }
      guard parts.count == 2, let first = ends.first, let last = ends.last, first <= last else {
        throw HTTPError(.malformed, "not an exception: \(line)")
      }
      for number in first...last { found[number] = String(parts[1]) }
    }
    return found
  }
}
