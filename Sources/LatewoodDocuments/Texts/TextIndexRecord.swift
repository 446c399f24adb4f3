import LatewoodQuery
import LatewoodText

/// The stored record of a full-text index: its definition and the progress of its build.
///
/// Its key in the database keyspace is `text/`, the name of the collection, `/` and the name of the
/// index. See FORMAT.md.
struct TextIndexRecord: DefinitionRecord, Equatable {
  static let format: UInt8 = 1
  static let keyPrefix = "text/"
  static let keyspaces = ["words"]

  /// On disk: never renumbered.
  private enum Flag {
    static let ready: UInt8 = 1
    static let merging: UInt8 = 2
  }

  /// The rules by which the words of the index were made. An index with other rules than this
  /// program's is built again.
  struct Rules: Equatable {
    /// The version of the Unicode tables.
    var unicode: String
    /// The version of the stemmers.
    var stemmers: UInt64

    static let current = Rules(
      unicode: UnicodeTables.version, stemmers: UInt64(TextLanguage.stemmerVersion))
  }

  var definition: TextDefinition
  let rules: Rules
  /// A number that distinguishes the words of the index from the words of an earlier one with the
  /// same name.
  let number: UInt64
  var progress: Progress

  /// The progress of a build.
  enum Progress: Equatable {
    /// The last document that the build has processed, which is empty if there is none. Later
    /// documents are not in the index.
    case through(String)
    /// All documents are in the index, many of them in recent segments.
    case merging
    case complete
  }

  /// The name of the keyspace of its words.
  func wordsName(of collection: String) -> String { "words/\(collection)/\(number)" }

  init(_ definition: TextDefinition, _ rules: Rules = .current, number: UInt64, _ progress: Progress) {
    self.definition = definition
    self.rules = rules
    self.number = number
    self.progress = progress
  }

  func encoded() -> [UInt8] {
    let flags =
      switch progress {
      case .through: UInt8(0)
      case .merging: Flag.merging
      case .complete: Flag.ready
      }
    var bytes = [TextIndexRecord.format, flags]
    bytes.append(varint: number)
    bytes.append(text: rules.unicode)
    bytes.append(varint: rules.stemmers)
    let options = definition.options
    bytes.append(text: options.language?.rawValue ?? "")
    bytes.append(options.folding.rawValue)
    bytes.append(varint: UInt64(options.stopWords.count))
    for word in options.stopWords.sorted(by: SortKey.isLess) { bytes.append(text: word) }
    bytes.append(UInt8(definition.fields.count))
    for field in definition.fields {
      bytes.append(bigEndian: field.weight.bitPattern)
      bytes.append(text: field.path.text)
    }
    if case .through(let last) = progress { bytes += last.utf8 }
    return bytes
  }

  init(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
    guard var source = UntrustedBytes(bytes, what: "the definition of a full-text index") else {
      throw DatabaseError(.corruptData, "the definition of a full-text index is empty")
    }
    let format = try source.byte()
    guard format == TextIndexRecord.format else {
      throw DatabaseError(.tooNew, "the definition of a full-text index has the format \(format)")
    }
    let flags = try source.byte()
    guard [0, Flag.ready, Flag.merging].contains(flags) else {
      throw source.damaged("its flags are \(flags)")
    }
    number = try source.varint()
    rules = Rules(unicode: try source.text(), stemmers: try source.varint())
    let options = try TextIndexRecord.options(&source)
    var fields: [TextDefinition.Field] = []
    for _ in 0..<(try source.byte()) {
      let weight = Double(bitPattern: try source.bigEndian())
      let text = try source.text()
      do throws(QueryError) {
        fields.append(TextDefinition.Field(try TextPath(parsing: text), weight: weight))
      } catch { throw source.damaged(error.description) }
    }
    do throws(QueryError) { definition = try TextDefinition(fields, options) } catch {
      throw source.damaged(error.description)
    }
    guard flags == 0 || source.isAtEnd else { throw source.damaged("it is too long") }
    switch flags {
    case Flag.ready: progress = .complete
    case Flag.merging: progress = .merging
    default: progress = .through(String(decoding: source.rest(), as: UTF8.self))
    }
  }

  private static func options(_ source: inout UntrustedBytes) throws(DatabaseError) -> TextOptions {
    let name = try source.text()
    let language = TextLanguage(rawValue: name)
    guard language != nil || name.isEmpty else {
      throw DatabaseError(.tooNew, "a full-text index has the language \"\(name)\"")
    }
    let folding = TextFolding(rawValue: try source.byte())
    guard folding.isSubset(of: .all) else {
      throw DatabaseError(.tooNew, "a full-text index folds in the way \(folding.rawValue)")
    }
    var stopWords: Set<String> = []
    // Each word takes at least one byte, so the count cannot make this loop long.
    for _ in 0..<(try source.varint()) { stopWords.insert(try source.text()) }
    return TextOptions(language: language, folding: folding, stopWords: stopWords)
  }
}

extension UntrustedBytes {
  /// Reads a text in UTF-8, preceded by its length.
  mutating func text() throws(DatabaseError) -> String {
    let bytes = try bytes(Int(clamping: try varint()))
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw damaged("a text is not valid UTF-8")
    }
    return text
  }
}

extension [UInt8] {
  /// Appends a text in UTF-8, preceded by its length.
  mutating func append(text: String) {
    append(varint: UInt64(text.utf8.count))
    self += text.utf8
  }
}
