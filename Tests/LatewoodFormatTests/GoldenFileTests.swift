import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

/// The files of version 1 in Tests/golden: later versions of the code must write the same bytes and
/// read them the same way.
///
/// `LATEWOOD_REGENERATE_GOLDEN=1` writes them again, for a change of the format together with
/// FORMAT.md and the reader in Tests/format.
@Suite(.serialized) struct GoldenFileTests {
  static let isRegenerating = CurrentProcess.environmentVariable("LATEWOOD_REGENERATE_GOLDEN") == "1"

  @Test func `the writer still produces every golden file byte for byte`() throws {
    for file in try GoldenFile.all() {
      if Self.isRegenerating {
        try Repository.write(file.bytes, to: Repository.path(file.path))
        try Repository.write(Array(file.expected.utf8), to: Repository.path(file.expectedPath))
      }
      let kept = try Repository.read(file.path)
      let difference = zip(kept, file.bytes).enumerated().first { $1.0 != $1.1 }?.offset
      #expect(kept.count == file.bytes.count, "\(file.name)")
      #expect(difference == nil, "\(file.name) differs at this offset")
      #expect(String(decoding: try Repository.read(file.expectedPath), as: UTF8.self) == file.expected)
    }
  }

  @Test func `the folder has no other files`() throws {
    let names = try Directories.names(in: Repository.path("Tests/golden")).sorted()
    let expected = try GoldenFile.all().flatMap { ["\($0.name).latewood", "\($0.name).expected.jsonl"] }
    #expect(names == expected.sorted())
  }

  @Test func `every golden file reads as expected, or reports where it is damaged`() throws {
    for file in try GoldenFile.all() {
      let path = Repository.path(file.path)
      switch file.outcome {
      case .reads(let listing, let faults):
        let store = try Store.open(at: path, mode: .readOnly)
        #expect(try store.listing() == listing, "\(file.name)")
        #expect(try store.verify().faults.map(\.offset) == faults, "\(file.name)")
        try store.close()
      case .damaged(let offset):
        let error = #expect(throws: StoreError.self, "\(file.name)") {
          _ = try Store.open(at: path, mode: .readOnly).listing()
        }
        #expect(
          error?.code == .damaged && error?.offset == offset, "\(file.name): \(String(describing: error))")
        try expectFault(at: offset, in: path)
      case .rejected(let code):
        let error = #expect(throws: StoreError.self) { _ = try Store.open(at: path, mode: .readOnly) }
        #expect(error?.code == code, "\(file.name)")
      }
    }
  }

  /// Expects exactly this fault in a damaged file, if it can be opened at all.
  private func expectFault(at offset: UInt64, in path: String) throws {
    let opened: Store
    do { opened = try Store.open(at: path, mode: .readOnly) } catch { return }
    #expect(try opened.verify().faults.map(\.offset) == [offset])
  }

  @Test func `a writer can continue from every readable golden file`() throws {
    for file in try GoldenFile.all() {
      guard case .reads(let listing, _) = file.outcome else { continue }
      let volume = MemoryVolume()
      try Repository.write(try Repository.read(file.path), to: "copy", on: volume)
      func open() throws -> Store {
        try Store.open(
          at: "copy", on: volume, mode: .openExisting, options: Store.Options(),
          environment: ModelledStore.environment(seed: 99))
      }
      var store = try open()
      #expect(try store.listing() == listing, "\(file.name)")
      try store.put("key", "value", in: store.keyspace("written since"))
      let before = try store.listing()
      try store.close()
      store = try open()
      #expect(try store.listing() == before, "\(file.name)")
      // A slot or a copy of the header may still be damaged.
      #expect(try store.verify().faults.allSatisfy { $0.offset < 16384 }, "\(file.name)")
      try store.close()
    }
  }
}
