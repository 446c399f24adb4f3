import LatewoodStore

/// A file of version 1 that lies in Tests/golden, and what reading it must come to.
struct GoldenFile {
  enum Outcome: Equatable {
    /// It reads; and `verify` finds faults at these offsets, none if it is sound.
    case reads(listing: String, faults: [UInt64] = [])
    /// It opens, or not; but listing all of it throws `damaged` with this offset.
    case damaged(at: UInt64)
    /// It does not open, for another reason than damage.
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

  /// What lies beside it: the listing, or one line that says why there is none.
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
