import LatewoodConcurrency
import LatewoodDevice
import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore

@testable import LatewoodTool

/// Two files that are generated for each test run, byte by byte the same: clock and randomness are
/// counters, and nothing runs in the background.
///
/// Both have a tree of two levels, values outside of it, two checkpoints, and a log after the
/// newest of them whose last frames prove that the previous ones were durable: so that every kind
/// of damage is possible.
enum GoldenSource: String, CaseIterable {
  case entries
  case documents

  /// The results of `bytes`, made once.
  private static let made = Result {
    try Dictionary(uniqueKeysWithValues: allCases.map { ($0, try $0.bytes()) })
  }

  static func bytes(of source: GoldenSource) throws -> [UInt8] { try made.get()[source] ?? [] }

  func bytes() throws -> [UInt8] {
    switch self {
    case .entries: try Self.entriesFile()
    case .documents: try Self.documentsFile()
    }
  }

  private static func storeOptions() -> Store.Options {
    var options = Store.Options()
    options.nodeSize = 1024
    options.checkpointsInBackground = false
    options.compaction = .manual
    return options
  }

  /// Returns an environment whose clock starts at 2024-01-01 and advances by a second at each
  /// reading.
  private static func environment() -> Environment {
    let seconds = Guarded<UInt64>(1_704_067_200)
    let random = Guarded(SeededRandom(seed: 1))
    return Environment(
      now: {
        seconds.withLock { seconds in
          seconds += 1
          return seconds * 1_000_000
        }
      },
      random: { random.withLock { $0.next() } })
  }

  private static func entriesFile() throws -> [UInt8] {
    let volume = MemoryVolume()
    let store = try Store.open(
      at: "file", on: volume, mode: .createNew, options: storeOptions(), environment: environment())
    let fruit = try store.keyspace("default")
    let users = try store.keyspace("users")
    var random = SeededRandom(seed: 2)
    for round in 0..<2 {
      try store.write { transaction in
        for number in 0..<40 {
          try transaction.put("key-\(100 + number)", "value \(number) of round \(round)", in: fruit)
        }
        try transaction.put("large-\(round)", random.bytes(600), in: fruit)
        try transaction.put("ключ \(round)", "значение", in: users)
      }
      try store.checkpoint()
    }
    for number in 0..<4 {
      try store.write { transaction in
        try transaction.put("key-\(100 + number)", "changed", in: fruit)
        try transaction.put("since-\(number)", "the checkpoint", in: fruit)
      }
    }
    return try asKilled(store, volume)
  }

  /// Returns the file as a killed process would leave it: without the writes of closing.
  private static func asKilled(_ store: AnyObject, _ volume: MemoryVolume) throws -> [UInt8] {
    try withExtendedLifetime(store) { try Repository.read(volume, "file") }
  }

  private static func documentsFile() throws -> [UInt8] {
    var options = DocumentOptions()
    options.store = storeOptions()
    options.environment = environment()
    options.expiresByItself = false
    let volume = MemoryVolume()
    /// Reopens the database; closing makes a checkpoint.
    func reopened(_ body: (DocumentStore, CollectionHandle) throws -> Void) throws -> DocumentStore {
      let store = try DocumentStore.open(at: "file", on: volume, mode: .openOrCreate, options: options)
      try body(store, try store.createCollection("films"))
      return store
    }
    try reopened(addFilms).close()
    try reopened(addOneOfEachKind).close()
    return try asKilled(
      reopened { store, films in
        for number in 0..<4 {
          try store.write {
            _ = try $0.save("since-\(number)", in: films, body: body(#"{"n":\#(number)}"#), parent: nil)
          }
        }
      }, volume)
  }

  private static func body(_ json: String) throws -> [UInt8] { try BodyReader().body(of: Array(json.utf8)) }

  private static func addFilms(_ store: DocumentStore, _ films: CollectionHandle) throws {
    for number in 0..<20 {
      let text = String(repeating: "x", count: number < 18 ? number : 700)
      try store.write {
        _ = try $0.save(
          "film-\(100 + number)", in: films, body: body(#"{"title":"Film \#(number)","text":"\#(text)"}"#),
          parent: nil)
      }
    }
  }

  /// Adds a conflict, a tombstone, a document that expires, and one with a blob.
  private static func addOneOfEachKind(_ store: DocumentStore, _ films: CollectionHandle) throws {
    let poster = try store.putBlob(Array("a poster".utf8)).digest
    try store.write { writer in
      let first = try writer.save("alien", in: films, body: body(#"{"year":1979}"#), parent: nil).revision
      try writer.save("alien", in: films, body: body(#"{"year":1979,"mine":true}"#), parent: first)
      try writer.insert(
        "alien", in: films, history: [RevisionID("2-ff"), first], body: body(#"{"year":1979,"theirs":true}"#))
      let gone = try writer.save("gone", in: films, body: body(#"{"a":1}"#), parent: nil).revision
      try writer.save("gone", in: films, body: body("{}"), parent: gone, isDeleted: true)
      try writer.setExpiry(of: "film-101", in: films, 4_000_000_000)
      try writer.save(
        "poster", in: films,
        body: body(
          #"{"image":{"@type":"blob","digest":"sha256-eNuwHdqe9MICVoaj5zcv5ud6w1rJeviEG9IYOzj1qHw=","length":8}}"#
        ),
        parent: nil, blobs: [poster])
    }
  }
}
