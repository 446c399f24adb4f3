import LatewoodDevice
import LatewoodDocuments
import LatewoodFleece
import LatewoodSimulation
import LatewoodStore

/// A file with two views: one is up to date, with its sums; the other is being rebuilt and is
/// behind.
extension GoldenFile {
  static func views() throws -> GoldenFile {
    let volume = MemoryVolume()
    var options = DocumentOptions()
    options.format = .version1
    options.expiresByItself = false
    options.store.checkpointsInBackground = false
    options.store.compaction = .manual
    options.environment = ModelledStore.environment(seed: 33)
    let path = ModelledStore.path
    let store = try DocumentStore.open(at: path, on: volume, mode: .createNew, options: options)
    ModelledStore.skipReadings(of: options.environment, collections: 1)
    let films = try store.createCollection("films")
    func save(_ numbers: Range<Int>, _ factor: Int) throws {
      try store.write { writer in
        for number in numbers {
          let body = try JSON.fleece(
            from:
              #"{"year":\#(1960 + number % 20),"score":\#(number * factor)\#(number % 2 == 0 ? ".5" : "")}"#)
          _ = try writer.save(
            "film \(number)", in: films, body: body, parent: nil, policy: .lastWriteWins)
        }
      }
    }
    try save(0..<70, 1)
    for view in [byYear(version: 1), kinds(version: 1), kinds(version: 2)] {
      try store.register(view, of: films)
      try store.catchUp(view, of: films)
    }
    try store.store.checkpoint()
    try save(30..<75, 2)
    try store.write { writer in _ = try writer.purge("film 7", in: films) }
    try store.close()
    // Another program, which knows only one of the views.
    let other = try DocumentStore.open(at: path, on: volume, mode: .openExisting, options: options)
    ModelledStore.skipReadings(of: options.environment, collections: 2)
    guard let films = try other.collection("films") else { throw DatabaseError(.notFound, "no films") }
    try other.register(byYear(version: 1), of: films)
    let body = try JSON.fleece(from: #"{"year":"soon"}"#)
    try other.write { writer in
      _ = try writer.save("film 8", in: films, body: body, parent: nil, policy: .lastWriteWins)
      _ = try writer.purge("film 9", in: films)
    }
    try other.close()
    let plain = try Store.open(
      at: path, on: volume, mode: .readOnly, options: Store.Options(),
      environment: ModelledStore.environment(seed: 34))
    let listing = try plain.listing()
    try plain.close()
    return GoldenFile("views", try Repository.read(volume, path), .reads(listing: listing))
  }

  /// Emits years with scores, which are added up. The map fails for a document without a score.
  private static func byYear(version: UInt64) -> ViewDefinition {
    ViewDefinition("by year", version: version, reduction: .stats) { film, emit in
      let members = try film.body.dictionary()
      guard let score = try members?.value(for: "score") else {
        return emit.fail("the film has no score")
      }
      var writer = FleeceWriter()
      try writer.value(score)
      emit.emit(try members?.value(for: "year"), try writer.finish())
    }
  }

  /// Two rows for each film, with arrays as keys.
  private static func kinds(version: UInt64) -> ViewDefinition {
    ViewDefinition("kinds", version: version) { film, emit in
      for text in ["film", film.id] {
        var writer = FleeceWriter()
        try writer.beginArray()
        try writer.string(text)
        try writer.unsigned(version)
        try writer.endArray()
        try FleeceBody(written: try writer.finish()).withRoot { (key) throws(FleeceError) in emit.emit(key) }
      }
    }
  }
}
