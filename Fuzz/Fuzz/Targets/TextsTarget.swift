import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore
import LatewoodText

/// Operations on documents with two full-text indexes, compared with the words of all documents.
/// Now and then the process is killed, the database compacted or reopened, or an index made anew.
final class TextsTarget: FuzzTarget {
  var longest: Int { 120 }

  init() {
    // Tables are made for the first text beyond ASCII, which is not the time of an input.
    var analyzer = TextAnalyzer(TextOptions(language: .english))
    _ = analyzer.tokens(of: "é 日本")
  }

  func run(_ input: UnsafeRawBufferPointer) {
    do { try TextsRun(input).run() } catch { find("\(error)") }
  }
}

/// The run of one input.
private final class TextsRun {
  private var bytes: InputBytes
  private let disk = SimulatedVolume()
  private let options: DocumentOptions
  private var process = 1
  private var store: DocumentStore
  private var documents: CollectionHandle
  private let definitions: [String: TextDefinition]
  /// The indexes that have been built completely.
  private var built: Set<String> = []

  private struct OnPurpose: Error {}

  private static let words = [
    "sky", "skies", "Straße", "STRASSE", "été", "e\u{301}te\u{301}", "日本語", "ไทย", "a.b", "\u{0}", "👩‍👩", "the",
    "",
    "x\u{301}\u{301}", "3.14", "running",
  ]
  private static let queries = [
    "sky", "s*", "running OR 日本", "\"sky running\"", "sky NOT the", "NEAR(sky running, 2)", "tags[]:strasse",
    "ete ^2", "{text \"tags[]\"}:(a b)", "\"\" 本*",
  ]

  init(_ input: UnsafeRawBufferPointer) throws {
    bytes = InputBytes(input)
    var options = DocumentOptions.ofTargets
    options.environment = Environment(now: { 1_700_000_000_000_000 }, random: { 77 })
    self.options = options
    let fields = try ["text", "tags[]"].map { try TextDefinition.Field(parsing: $0) }
    definitions = [
      "words": try TextDefinition(fields),
      "stems": try TextDefinition(fields, TextOptions(language: .english, stopWords: ["the"])),
    ]
    store = try DocumentStore.open(at: "db", on: disk.process(1), mode: .createNew, options: options)
    documents = try store.foundDefaultCollection()
  }

  func run() throws {
    var steps = 0
    while !bytes.isAtEnd, steps < 16 {
      steps += 1
      switch bytes.below(16) {
      case 0: try reopen()
      case 1: try store.store.checkpoint()
      case 2: _ = try store.compact()
      case 3: try create()
      case 4: try drop()
      default: try batch()
      }
      try checkIndexes()
    }
    try reopen()
    try compare()
    try store.close()
  }

  private var name: String { get throws { bytes.below(2) == 0 ? "words" : "stems" } }

  private func create() throws {
    let name = try name
    guard let definition = definitions[name] else { return }
    try store.createIndex(name, fullText: definition, in: documents)
    built.insert(name)
  }

  private func drop() throws {
    let name = try name
    if try store.dropIndex(name, in: documents) != (built.remove(name) != nil) {
      find("another index was dropped")
    }
  }

  private func reopen() throws {
    if bytes.below(2) == 0 { try store.close() } else { disk.kill(process: process) }
    process += 1
    store = try DocumentStore.open(at: "db", on: disk.process(process), mode: .openExisting, options: options)
    documents = try store.foundDefaultCollection()
    let report = try store.verify(deep: true)
    if !report.isSound { find("\(report.faults) \(report.store?.faults ?? [])") }
  }

  private func batch() throws {
    let fails = bytes.below(8) == 7
    let count = bytes.below(6)
    do {
      try store.write { writer in
        for _ in 0...count { try step(writer) }
        if fails { throw OnPurpose() }
      }
    } catch is OnPurpose {}
  }

  private func step(_ writer: DocumentWriter) throws {
    let code = bytes.byte()
    let id = "doc \(code >> 5)"
    let isLive = try writer.reads(documents).head(of: id).map { !$0.isDeleted } ?? false
    switch code & 15 {
    case 0: _ = try writer.purge(id, in: documents)
    case 1 where isLive:
      _ = try writer.save(
        id, in: documents, body: JSON.fleece(from: "{}"), parent: nil, isDeleted: true,
        policy: .lastWriteWins)
    // A query in a batch writes the words of the batch first.
    case 2: try compare([bytes.below(Self.queries.count)])
    default:
      _ = try writer.save(id, in: documents, body: body(), parent: nil, policy: .lastWriteWins)
    }
  }

  private func body() throws -> [UInt8] {
    var writer = FleeceWriter()
    try writer.beginDictionary()
    try writer.key("text")
    try writer.string(text(12))
    try writer.key("tags")
    try writer.beginArray()
    for _ in 0..<bytes.below(4) { try writer.string(text(4)) }
    try writer.endArray()
    try writer.endDictionary()
    return try writer.finish()
  }

  private func text(_ limit: Int) -> String {
    (0..<bytes.below(limit)).map { _ in Self.words[bytes.below(Self.words.count)] }.joined(separator: " ")
  }

  // MARK: Checks

  private func checkIndexes() throws {
    let ready = try store.reads(documents).textIndexList().filter(\.isReady).map(\.name)
    if Set(ready) != built { find("the indexes \(ready) are ready, not \(built.sorted())") }
  }

  /// - Parameter numbers: the numbers of the queries; nil for a few.
  private func compare(_ numbers: [Int]? = nil) throws {
    let first = bytes.below(Self.queries.count)
    let numbers = numbers ?? (0..<4).map { (first + 3 * $0) % Self.queries.count }
    let reads = try store.reads(documents)
    for name in built {
      guard let definition = definitions[name] else { continue }
      for query in numbers.map({ Self.queries[$0] }) {
        let search = try TextSearch(.query(query), in: name, definition)
        var expected: [String] = []
        try reads.find(FindRequest()) { document in
          if try search.occurrences(in: document).isMatch { expected.append(document.id) }
          return true
        }
        try compare(query, name, expected, reads)
      }
    }
  }

  private func compare(
    _ query: String, _ name: String, _ expected: [String], _ reads: DocumentReads
  ) throws {
    var request = FindRequest(.text(TextCondition(index: name, .query(query))))
    var found: [String] = []
    try reads.find(request) { document in
      found.append(document.id)
      return true
    }
    if found != expected { find("\(query) finds \(found) by \(name), not \(expected)") }
    if try reads.count(request) != expected.count { find("the count of \(query) by \(name)") }
    request.ranking = name
    found = []
    var last = Double.infinity
    try reads.findRanked(PreparedFind(request)) { document, score, _ in
      found.append(document.id)
      if score > last { find("the ranks of \(query) by \(name)") }
      last = score
      return true
    }
    if found.sorted() != expected { find("\(query) ranks \(found) by \(name), not \(expected)") }
  }
}
