import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery
import LatewoodText

/// An index of any kind, for a list.
struct ListedIndex {
  var name: String
  var fields: [String]
  /// The fields in one line.
  var text: String
  var isUnique = false
  var isPartial = false
  var isFullText = false
  var isReady: Bool
  var problem: String?
  var count: Int

  init(_ index: DocumentIndex) {
    (name, fields, text) = (index.name, index.fields, index.definition.text)
    (isUnique, isPartial) = (index.isUnique, index.isPartial)
    (isReady, problem, count) = (index.isReady, index.problem, index.count)
  }

  init(_ index: DocumentTextIndex) {
    (name, fields, text) = (index.name, index.fields, index.definition.text)
    isFullText = true
    (isReady, problem, count) = (index.isReady, index.problem, index.count)
  }

  var countText: String {
    isFullText ? Quantity.count(count, "document", "documents") : Quantity.count(count, "entry", "entries")
  }

  func line(in width: Int) -> String {
    var parts = [KeyText.shown(name.utf8), "on \(text)"]
    if isFullText { parts.append("full text") }
    if isUnique { parts.append("unique") }
    if isPartial { parts.append("partial") }
    if let problem { return parts.joined(separator: "  ") + "  not used: " + problem }
    let entries = isFullText ? countText : "\(count) entries"
    parts.append(isReady ? entries : "not ready")
    return DisplayWidth.fitted(parts.joined(separator: "  "), to: width)
  }

  func write(to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.member("name", name)
    writer.array("fields", fields) { writer, field in writer.text(field) }
    writer.member("unique", isUnique)
    writer.member("partial", isPartial)
    writer.member("fullText", isFullText)
    writer.member("ready", isReady)
    if let problem { writer.member("problem", problem) }
    writer.member("entries", count)
    writer.endDictionary()
  }
}

extension DocumentReads {
  /// All indexes, by name.
  func listedIndexes() throws -> [ListedIndex] {
    let listed = try indexList().map { ListedIndex($0) } + textIndexList().map { ListedIndex($0) }
    return listed.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  func index(named name: String) throws -> ListedIndex? {
    try listedIndexes().first { $0.name == name }
  }
}
