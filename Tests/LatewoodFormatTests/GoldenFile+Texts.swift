import LatewoodDevice
import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore
import LatewoodText

@testable import LatewoodDocuments

/// A file with three full-text indexes: two of texts in ASCII, of which one is being built, and one
/// with a language.
extension GoldenFile {
  static func texts() throws -> GoldenFile {
    let volume = MemoryVolume()
    var options = DocumentOptions()
    options.expiresByItself = false
    options.store.checkpointsInBackground = false
    options.store.compaction = .manual
    options.environment = ModelledStore.environment(seed: 35)
    let path = ModelledStore.path
    let store = try DocumentStore.open(at: path, on: volume, mode: .createNew, options: options)
    ModelledStore.skipReadings(of: options.environment, collections: 1)
    let films = try store.createCollection("films")
    try save(0..<180, 1, films, store)
    let plain = try definition(["title^2", "tags[]", "parts[].text"], TextOptions(stopWords: ["the", "of"]))
    try store.createIndex("plain", fullText: plain, in: films)
    try store.store.checkpoint()
    // The words of these documents change, and a part of the others leaves.
    try save(160..<190, 2, films, store)
    try store.write { writer in
      for number in 10..<20 { _ = try writer.purge(id(number), in: films) }
    }
    // The first step of a build that is not finished.
    var build = TextIndexBuild("unfinished", try definition(["title"], TextOptions()), of: films)
    build.limit = 100
    let step = build
    try store.write { writer in _ = try step.step(in: writer.batch) }
    // Small segments of recent changes, of which some are merged.
    for number in 90..<101 { try save(number..<(number + 1), 3, films, store) }
    let words = try definition(["title"], TextOptions(language: .english, folding: .letterCase))
    try store.createIndex("words", fullText: words, in: films)
    try store.close()
    let read = try Store.open(
      at: path, on: volume, mode: .readOnly, options: Store.Options(),
      environment: ModelledStore.environment(seed: 36))
    let listing = try read.listing()
    try read.close()
    return GoldenFile("texts", try Repository.read(volume, path), .reads(listing: listing))
  }

  private static func definition(_ fields: [String], _ options: TextOptions) throws -> TextDefinition {
    try TextDefinition(try fields.map { try TextDefinition.Field(parsing: $0) }, options)
  }

  private static func id(_ number: Int) -> String { "film \(1000 + number)" }

  private static func save(
    _ numbers: Range<Int>, _ factor: Int, _ films: CollectionHandle, _ store: DocumentStore
  ) throws {
    try store.write { writer in
      for number in numbers {
        let tags = (0..<(number % 4)).map { #""tag\#($0 * factor)""# }.joined(separator: ",")
        let body = try JSON.fleece(
          from: """
            {"title":"The film of \(number * factor), the film\(number % 5 == 0 ? " again" : "")","tags":[\(tags)],
            "parts":[{"text":"Part \(number % 7) of the story"},{"text":"The end"}]}
            """)
        _ = try writer.save(id(number), in: films, body: body, parent: nil, policy: .lastWriteWins)
      }
    }
  }
}
