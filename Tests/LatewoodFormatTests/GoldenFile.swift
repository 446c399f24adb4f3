import LatewoodStore

/// A file of version 1 in Tests/golden, and the expected outcome of reading it.
struct GoldenFile {
  enum Outcome: Equatable {
    /// The file can be read, and `verify` finds faults at these offsets; the list is empty for a
    /// sound file.
    case reads(listing: String, faults: [UInt64] = [])
    /// Opening or listing the file throws `damaged` with this offset.
    case damaged(at: UInt64)
    /// The file cannot be opened, for a reason other than damage.
    case rejected(StoreError.Code)
  }

  var name: String
  var bytes: [UInt8]
  var outcome: Outcome

  init(_ name: String, _ bytes: [UInt8], _ outcome: Outcome) {
    self.name = name
    self.bytes = bytes
    self.outcome = outcome
  }

  init(_ name: String, _ store: ModelledStore) throws {
    self.init(name, try store.bytes(), .reads(listing: store.model.listing))
  }

  /// The contents of the file with the expected output: the listing, or one line with the reason
  /// why the file cannot be listed.
  var expected: String {
    switch outcome {
    case .reads(let listing, _): listing
    case .damaged(let offset): "{\"damaged\": \(offset)}\n"
    case .rejected(let code): "{\"rejected\": \"\(code.rawValue)\"}\n"
    }
  }

  var path: String { "Tests/golden/\(name).latewood" }
  var expectedPath: String { "Tests/golden/\(name).expected.jsonl" }

  static func all() throws -> [GoldenFile] { try written() + interrupted() + handmade() + damaged() }
}
