import LatewoodFleece
import LatewoodHTTP
import LatewoodServing

/// Compares answers with recorded ones, and translates later requests.
///
/// Digests, sequences and ids that a server chooses are different in every server. At first sight,
/// each of CouchDB's is mapped to ours; from then on, it must be the same one.
struct AnswerComparison {
  /// CouchDB's texts of 32 hexadecimal digits, and its sequences, with ours.
  private var known: [String: String] = [:]

  /// Members that mean something else in every server, or in none but CouchDB.
  private static let opaque: Set<String> = [
    "instance_start_time", "purge_seq", "sizes", "cluster", "props", "disk_format_version", "version",
    "git_sha", "uuid", "features", "vendor", "_local_seq",
  ]

  /// Lists whose order depends on digests.
  private static let unordered: Set<String> = [
    "possible_ancestors", "_conflicts", "_deleted_conflicts", "docs",
  ]

  // MARK: - Requests

  /// Returns a request of the recording as our server has to get it.
  func translated(_ request: APIRequest) throws -> APIRequest {
    var request = request
    request.target = translated(request.target)
    var fields = HTTPFields()
    for field in request.fields.list { fields.add(field.name, translated(field.value)) }
    request.fields = fields
    if fields["Transfer-Encoding"] == "chunked" { request.body = try AnswerComparison.joined(request.body) }
    if let text = String(validating: request.body, as: UTF8.self) {
      request.body = Array(translated(text).utf8)
    }
    return request
  }

  /// Replaces all words of a text that are known.
  private func translated(_ text: String) -> String {
    var result: [UInt8] = []
    var word: [UInt8] = []
    func flush() {
      let text = String(decoding: word, as: UTF8.self)
      if let ours = known[text] {
        result += ours.utf8
      } else if let dash = word.firstIndex(of: UInt8(ascii: "-")),
        let ours = known[String(decoding: word[(dash + 1)...], as: UTF8.self)]
      {
        result += word[...dash] + ours.utf8
      } else if word.starts(with: "22".utf8), let ours = known[String(text.dropFirst(2))] {
        // The digits of an encoded quotation mark belong to the word before it.
        result += "22".utf8 + Array(ours.utf8)
      } else if word.starts(with: "22".utf8), let dash = word.firstIndex(of: UInt8(ascii: "-")),
        let ours = known[String(decoding: word[(dash + 1)...], as: UTF8.self)]
      {
        result += word[...dash] + ours.utf8
      } else {
        result += word
      }
      word = []
    }
    for byte in text.utf8 {
      if AnswerComparison.isWord(byte) {
        word.append(byte)
      } else {
        flush()
        result.append(byte)
      }
    }
    flush()
    return String(decoding: result, as: UTF8.self)
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    let lower = byte | 0x20
    return lower >= UInt8(ascii: "a") && lower <= UInt8(ascii: "z") || byte == UInt8(ascii: "-")
      || byte == UInt8(ascii: "_") || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
  }

  /// Returns the data of a chunked body.
  private static func joined(_ chunks: [UInt8]) throws -> [UInt8] {
    var parser = HTTPParser(isServer: true)
    let bytes = Array("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".utf8) + chunks
    var offset = 0
    var data: [UInt8] = []
    while let event = try parser.next(bytes, &offset) {
      if case .data(let range) = event { data += bytes[range] }
    }
    return data
  }

  // MARK: - Answers

  /// Returns the first difference between an answer and the recorded one; nil if they mean the
  /// same.
  mutating func difference(_ answer: APIResponse, _ recorded: Exchange) throws -> String? {
    guard answer.status == recorded.status else {
      let body = String(decoding: answer.body.prefix(200), as: UTF8.self)
      return "status \(answer.status) instead of \(recorded.status): \(body)"
    }
    if let etag = recorded.fields["ETag"], etag.contains("-") {
      guard let ours = answer.fields["ETag"] else { return "no ETag instead of \(etag)" }
      if let difference = compare(
        text: String(etag.filter { $0 != "\"" }), String(ours.filter { $0 != "\"" }))
      {
        return "ETag: \(difference)"
      }
    }
    for name in ["Content-Range", "Allow", "Content-MD5"] where recorded.fields[name] != nil {
      guard answer.fields[name] == recorded.fields[name] else { return "another \(name)" }
    }
    return try compare(
      recorded.body, recorded.fields["Content-Type"] ?? "", answer.body, answer.fields["Content-Type"] ?? "")
  }

  private mutating func compare(
    _ recorded: [UInt8], _ recordedType: String, _ ours: [UInt8], _ ourType: String
  ) throws -> String? {
    if let type = HeaderValue(recordedType), type.value.hasPrefix("multipart/"),
      let theirs = type["boundary"],
      !recorded.isEmpty
    {
      guard let own = HeaderValue(ourType), own.value == type.value, let boundary = own["boundary"] else {
        return "\(ourType) instead of \(recordedType)"
      }
      let (left, right) = (
        try AnswerComparison.parts(recorded, theirs), try AnswerComparison.parts(ours, boundary)
      )
      guard left.count == right.count else { return "\(right.count) parts instead of \(left.count)" }
      for (left, right) in zip(left, right) {
        let found = try compare(
          left.1, left.0["Content-Type"] ?? "", right.1, right.0["Content-Type"] ?? "")
        if let found { return "in a part: \(found)" }
      }
      return nil
    }
    if recorded == ours { return nil }
    guard let left = AnswerComparison.json(recorded), let right = AnswerComparison.json(ours) else {
      if recorded.starts(with: "{\"seq\":".utf8) || recorded.starts(with: "{\"last_seq\":".utf8) {
        return try compare(lines: recorded, ours)
      }
      return "other bytes: \(String(decoding: ours.prefix(200), as: UTF8.self))"
    }
    return try compare(left, right, isUnordered: false)
  }

  /// Compares the lines of a continuous feed, each of which is one value.
  private mutating func compare(lines recorded: [UInt8], _ ours: [UInt8]) throws -> String? {
    let (left, right) = (AnswerComparison.lines(recorded), AnswerComparison.lines(ours))
    guard left.count == right.count else { return "\(right.count) lines instead of \(left.count)" }
    for (left, right) in zip(left, right) {
      guard let left, let right else { return "a line is not JSON" }
      if let difference = try compare(left, right, isUnordered: false) { return difference }
    }
    return nil
  }

  private static func lines(_ text: [UInt8]) -> [FleeceElement?] {
    text.split(separator: UInt8(ascii: "\n")).map { json(Array($0)) }
  }

  private static func json(_ text: [UInt8]) -> FleeceElement? {
    do throws(FleeceError) { return try FleeceBody(written: JSON.fleece(from: text)).root } catch {
      return nil
    }
  }

  private static func parts(_ body: [UInt8], _ boundary: String) throws -> [(HTTPFields, [UInt8])] {
    var parser = try MultipartParser(boundary: boundary)
    parser.append(body)
    var parts: [(HTTPFields, [UInt8])] = []
    while let event = try parser.next() {
      switch event {
      case .part(let fields): parts.append((fields, []))
      case .data(let bytes): parts[parts.count - 1].1 += bytes
      case .end: return parts
      }
    }
    return parts
  }

  private mutating func compare(
    _ recorded: FleeceElement, _ ours: FleeceElement, isUnordered: Bool
  ) throws -> String? {
    if let members = try recorded.members() {
      guard let own = try ours.members() else { return "not an object" }
      let ignored = AnswerComparison.opaque
      for (key, value) in members where !ignored.contains(key) {
        guard let other = try ours.element(for: key) else { return "no member \(key)" }
        if key == "update_seq" { continue }
        if key == "bookmark", let theirs = try value.string(), theirs != "nil" {
          known[theirs] = try other.string()
          continue
        }
        let isList = AnswerComparison.unordered.contains(key)
        if let difference = try compare(value, other, isUnordered: isList) { return "\(key): \(difference)" }
      }
      let names = Set(members.map(\.key))
      let more = own.map(\.key).filter { !ignored.contains($0) && !names.contains($0) }
      return more.isEmpty ? nil : "more members: \(more)"
    }
    if try recorded.kind == .array {
      return try compare(lists: elements(recorded), elements(ours), isUnordered: isUnordered)
    }
    if let text = try recorded.string() {
      guard let other = try ours.string() else { return "not a text" }
      return compare(text: text, other)
    }
    let (left, right) = (try AnswerComparison.text(recorded), try AnswerComparison.text(ours))
    return left == right ? nil : "\(right) instead of \(left)"
  }

  private func elements(_ list: FleeceElement) throws -> [FleeceElement] {
    try (0..<(list.count() ?? 0)).compactMap { try list.element(at: $0) }
  }

  private static func text(_ value: FleeceElement) throws -> String {
    var output = JSONOutput()
    try value.withValue { value throws(FleeceError) in try output.value(value) }
    return String(decoding: output.take(), as: UTF8.self)
  }

  private mutating func compare(
    lists recorded: [FleeceElement], _ ours: [FleeceElement], isUnordered: Bool
  ) throws -> String? {
    guard recorded.count == ours.count else { return "\(ours.count) elements instead of \(recorded.count)" }
    var rest = ours
    for element in recorded {
      var first: String?
      var isFound = false
      for (index, other) in rest.enumerated() {
        var trial = self
        guard let difference = try trial.compare(element, other, isUnordered: false) else {
          self = trial
          rest.remove(at: index)
          isFound = true
          break
        }
        first = first ?? difference
        if !isUnordered { break }
      }
      if !isFound { return first }
    }
    return nil
  }

  private mutating func compare(text recorded: String, _ ours: String) -> String? {
    if recorded == ours { return nil }
    if recorded.hasPrefix("md5-"), ours.hasPrefix("md5-") { return compare(digest: recorded, ours) }
    let difference = "\(ours) instead of \(recorded)"
    let (left, right) = (AnswerComparison.split(recorded), AnswerComparison.split(ours))
    guard left.number == right.number else { return difference }
    if AnswerComparison.isDigest(left.rest) {
      if let expected = known[left.rest] { return expected == right.rest ? nil : difference }
      guard !right.rest.isEmpty, right.rest.allSatisfy({ $0.isHexDigit }) else { return difference }
      known[left.rest] = right.rest
      return nil
    }
    guard left.rest.hasPrefix("g"), left.rest.count > 30, left.number != nil else { return difference }
    if let expected = known[recorded] { return expected == ours ? nil : difference }
    known[recorded] = ours
    return nil
  }

  /// Compares digests of attachments. CouchDB's are over the compressed bytes of texts.
  private mutating func compare(digest recorded: String, _ ours: String) -> String? {
    if let expected = known[recorded], expected != ours { return "\(ours) instead of \(recorded)" }
    known[recorded] = ours
    return nil
  }

  private static func isDigest(_ text: String) -> Bool { text.count == 32 && text.allSatisfy(\.isHexDigit) }

  /// Returns the number before the first hyphen, if there is one, and the rest.
  private static func split(_ text: String) -> (number: UInt64?, rest: String) {
    guard let dash = text.firstIndex(of: "-"), let number = UInt64(text[..<dash]) else { return (nil, text) }
    return (number, String(text[text.index(after: dash)...]))
  }
}
