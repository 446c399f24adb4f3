import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery
import LatewoodStore

/// Documents with a full-text index, written batch by batch beside everything else. The number of
/// the last batch determines what each word finds in a state.
///
/// The index is dropped and created again now and then, so that it is also built while others write
/// and compact.
final class SoakTexts: Sendable {
  /// The number of documents.
  private static let slots = 300
  private static let remakeEvery = 2000
  private static let collection = "texts"
  private static let index = "words"
  private static let counter = "batch"

  private let database: DocumentStore
  private let documents: CollectionHandle
  private let last = Guarded(0)

  init(_ database: DocumentStore) throws {
    self.database = database
    documents = try database.createCollection(Self.collection)
  }

  private static func words(_ batch: Int) -> [String] {
    // Every document has the first word. The others are more and more rare.
    ["all", "a\(batch % 2)", "b\(batch % 7)", "c\(batch % 31)", "d\(batch % 151)"]
      + Array(repeating: "filler", count: batch % 40)
  }

  /// Writes the next batch, and before some batches makes the index anew.
  func write() throws {
    let batch = last.withLock { $0 } + 1
    if batch % Self.remakeEvery == 1 {
      _ = try database.dropIndex(Self.index, in: documents)
      let field = try TextDefinition.Field(parsing: "text")
      try database.createIndex(Self.index, fullText: TextDefinition([field]), in: documents)
    }
    let text = Self.words(batch).joined(separator: " ")
    let body = try JSON.fleece(from: #"{"batch":\#(batch),"text":"\#(text)"}"#)
    try database.write { [documents] writer in
      _ = try writer.save(
        "text \(batch % Self.slots)", in: documents, body: body, parent: nil, policy: .lastWriteWins)
      try writer.putLocal(Self.counter, in: documents, body: Array("\(batch)".utf8))
    }
    last.withLock { $0 = batch }
  }

  /// Checks that words find the documents of a state that have them, and that the index has not
  /// been emptied as damaged.
  func check(_ snapshot: DocumentSnapshot) throws {
    let reads = try snapshot.reads(documents)
    guard let text = try reads.local(Self.counter), let last = Int(String(decoding: text, as: UTF8.self)),
      let index = try reads.textIndexList().first
    else { return }
    // Between two batches, the index is made anew.
    if last % Self.remakeEvery != 0, !index.isReady {
      throw SoakRun.Failure(description: "the full-text index is not ready after batch \(last)")
    }
    let batches = (max(0, last - Self.slots) + 1)...last
    for word in ["all", "a1", "b3", "c17", "d\(last % 151)"] {
      let request = FindRequest(.text(TextCondition(index: Self.index, .query(word))))
      let expected = batches.count { Self.words($0).contains(word) }
      let count = try reads.count(request)
      var found = 0
      try reads.find(request) { _ in
        found += 1
        return true
      }
      guard count == expected, found == expected else {
        throw SoakRun.Failure(
          description:
            "\(word): \(found) documents, count \(count), in place of \(expected) after batch \(last)")
      }
    }
  }
}
