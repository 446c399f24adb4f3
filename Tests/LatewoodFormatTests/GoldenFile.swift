import LatewoodStore

/// A file of version 1 in Tests/golden, and the expected outcome of reading it.
struct GoldenFile {
  enum Outcome: Equatable {
    /// It can be read, and `verify` finds faults at these offsets; none if it is sound.
    case reads(listing: String, faults: [UInt64] = [])
    /// Opening or listing it throws `damaged` with this offset.
    case damaged(at: UInt64)
    /// It cannot be opened, for another reason than damage.
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

  /// The contents of the file beside it: the listing, or one line with the reason why there is
  /// none.
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
