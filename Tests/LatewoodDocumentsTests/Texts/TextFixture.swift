import LatewoodFleece
import LatewoodQuery
import LatewoodStore
import LatewoodText
import Testing

@testable import LatewoodDocuments

extension TextDefinition {
  /// A definition with fields in their text form, such as `title^3`.
  init(_ fields: String..., options: TextOptions = TextOptions()) throws {
    try self.init(fields.map { try TextDefinition.Field(parsing: $0) }, options)
  }
}

extension DocumentReads {
  /// Returns the ids of the documents that a full-text index has for a query, in order.
  func ids(in name: String, with query: String) throws -> [String] {
    let index = try #require(try indexes().texts.first { $0.name == name })
    let reader = try textReader(index)
    var analyzer = TextAnalyzer(index.definition.options)
    let bound = try BoundTextQuery(
      TextQueryParser.parse(query), fields: index.definition.names, &analyzer)
    var ids: [String] = []
    try reader.forEachMatch(of: bound) { number in
      ids.append(String(decoding: try reader.id(of: number), as: UTF8.self))
      return true
    }
    return ids.sorted()
  }
}

/// Documents with texts of a few words, and the words that a plain model finds in them.
enum SampleText {
  static let vocabulary = ["apple", "apples", "bread", "bride", "cat", "caper", "Straße", "été", "日本", "7"]

  /// A random document: `title`, `tags` (a list of texts, or one text), and `parts` with a `text`
  /// each.
  static func json(_ below: (Int) -> Int) -> String {
    func text(_ limit: Int) -> String {
      (0..<below(limit)).map { _ in vocabulary[below(vocabulary.count)] }.joined(separator: " ")
    }
    var members: [String] = []
    if below(6) > 0 { members.append(#""title":"\#(text(6))""#) }
    switch below(6) {
    case 0: break
    case 1: members.append(#""tags":"\#(text(3))""#)
    default:
      let tags = (0..<below(4)).map { _ in below(8) == 0 ? "5" : #""\#(text(3))""# }
      members.append(#""tags":[\#(tags.joined(separator: ","))]"#)
    }
    let parts = (0..<below(3)).map { _ in #"{"text":"\#(text(30))"}"# }
    members.append(#""parts":[\#(parts.joined(separator: ","))]"#)
    return "{\(members.joined(separator: ","))}"
  }

  static let definition = try? TextDefinition("title^2", "tags[]", "parts[].text")

  /// The texts of a document that belong to the index.
  private static func texts(_ root: FleeceValue) throws -> [String] {
    guard let body = try root.dictionary() else { return [] }
    var texts: [String] = []
    if let title = try body.value(for: "title")?.string() { texts.append(title) }
    for (name, member) in [("tags", ""), ("parts", "text")] {
      guard let list = try body.value(for: name)?.array() else { continue }
      for index in 0..<list.count {
        let element = try list.value(at: index)
        let value = member.isEmpty ? element : try element.dictionary()?.value(for: member)
        if let text = try value?.string() { texts.append(text) }
      }
    }
    return texts
  }

  /// Returns the ids of the documents with a word, found without an index.
  static func ids(with word: String, _ reads: DocumentReads) throws -> [String] {
    var ids: [String] = []
    try reads.find(FindRequest()) { document in
      if try texts(document.body).contains(where: { $0.split(separator: " ").contains { $0 == word } }) {
        ids.append(document.id)
      }
      return true
    }
    return ids.sorted()
  }

  /// A random query of words, phrases, prefixes and operators.
  static func query(_ below: (Int) -> Int, depth: Int = 0) -> String {
    func word() -> String { vocabulary[below(vocabulary.count)] }
    switch below(depth > 3 ? 4 : 9) {
    case 0, 1: return word()
    case 2: return "\(word().prefix(1 + below(3)))*"
    case 3: return #""\#(word()) \#(word())""#
    case 4: return "(\(query(below, depth: depth + 1)) OR \(query(below, depth: depth + 1)))"
    case 5: return "(\(query(below, depth: depth + 1)) AND \(query(below, depth: depth + 1)))"
    case 6: return "(\(query(below, depth: depth + 1)) NOT \(query(below, depth: depth + 1)))"
    case 7: return "NEAR(\(word()) \(word()), \(below(4)))"
    default: return #"{title "parts[].text"}:\#(query(below, depth: depth + 1))"#
    }
  }
}
