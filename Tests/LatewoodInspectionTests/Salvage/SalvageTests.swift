import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodInspection

/// Salvages files with damage of each kind.
@Suite struct SalvageTests {
  // MARK: Identity of the file

  @Test(arguments: [0, 4096]) func `either copy of the header is enough`(copy: Int) throws {
    var bytes = try SampleFile.worked.bytes(length: 60_000, seed: 1)
    let whole = try Salvage.all(of: bytes).entries
    bytes.replaceSubrange(copy..<copy + 4096, with: [UInt8](repeating: 0, count: 4096))
    let (entries, report) = try Salvage.all(of: bytes)
    #expect(entries == whole)
    #expect(report.isWhole && report.origin == .header)
  }

  @Test func `an ID from damaged copies of the header is used if the file confirms it`() throws {
    var bytes = try SampleFile.worked.bytes(length: 60_000, seed: 1)
    let whole = try Salvage.all(of: bytes).entries
    bytes.replaceSubrange(0..<4096, with: [UInt8](repeating: 7, count: 4096))
    bytes[4096 + 33] ^= 1
    let (entries, report) = try Salvage.all(of: bytes)
    #expect(entries == whole)
    #expect(report.origin == .damagedHeader)
  }

  @Test func `without a header, the right ID must be supplied`() throws {
    let sound = try SampleFile.worked.bytes(length: 60_000, seed: 1)
    let whole = try Salvage.all(of: sound).entries
    let id = Array(sound[16..<32])
    var bytes = sound
    bytes.replaceSubrange(0..<16384, with: [UInt8](repeating: 0, count: 16384))
    #expect(throws: StorageError.self) { try Salvage.all(of: bytes) }
    #expect(throws: StorageError.self) {
      try Salvage.all(of: bytes, identity: SalvageIdentity(fileID: [UInt8](repeating: 1, count: 16)))
    }
    let (entries, report) = try Salvage.all(of: bytes, identity: SalvageIdentity(fileID: id))
    #expect(entries == whole)
    #expect(report.origin == .given && report.isRootSlotDamaged)
    let header = try SalvageIdentity(headerOf: DamagedFile(sound))
    #expect(try Salvage.all(of: bytes, identity: header).entries == whole)
  }

  @Test(arguments: SampleFile.allCases) func `without root slots, the newest checkpoint is found`(
    kind: SampleFile
  ) throws {
    var bytes = try kind.bytes(length: 60_000, seed: 2)
    let whole = try Salvage.all(of: bytes).entries
    for slot in [8192, 12288] {
      bytes.replaceSubrange(slot..<slot + 64, with: [UInt8](repeating: 0xAA, count: 64))
    }
    #expect(try Salvage.all(of: bytes).entries == whole)
  }

  // MARK: Older versions

  /// Returns a store in memory and the bytes of its file after `work`.
  private func file(
    _ work: (Store, Keyspace) throws -> Void
  ) throws -> (bytes: [UInt8], number: UInt32) {
    let volume = MemoryVolume()
    let store = try Store.open(
      at: "file", on: volume, mode: .createNew, options: SampleFile.options, environment: .system)
    let keyspace = try store.keyspace("fruit")
    try work(store, keyspace)
    try store.close()
    return (bytes: try GoldenFiles.bytes(at: "file", on: volume), number: keyspace.id)
  }

  private func key(_ number: UInt32, _ text: String) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) } + Array(text.utf8)
  }

  private func place(of value: [UInt8], in bytes: [UInt8]) throws -> Int {
    try #require((0..<bytes.count - value.count).first { bytes[$0..<$0 + value.count].elementsEqual(value) })
  }

  @Test func `a destroyed value is replaced by its predecessor, which is marked`() throws {
    let old = [UInt8](repeating: 0x11, count: 2000)
    let new = [UInt8](repeating: 0x22, count: 2000)
    var (bytes, number) = try file { store, keyspace in
      try store.put("a", old, in: keyspace)
      try store.put("b", "small", in: keyspace)
      try store.checkpoint()
      try store.put("a", new, in: keyspace)
    }
    bytes[try place(of: new, in: bytes) + 1000] ^= 1
    let (entries, report) = try Salvage.all(of: bytes)
    let found = try #require(entries[key(number, "a")])
    #expect(found.value == old)
    guard case .older = found.trust else { return #expect(Bool(false), "\(found.trust)") }
    #expect(entries[key(number, "b")]?.trust == .certain)
    #expect(report.lostRanges.map(\.what) == [.value])
  }

  @Test func `deleted entries stay deleted when a leaf is lost`() throws {
    var (bytes, number) = try file { store, keyspace in
      for index in 100..<200 { try store.put("key-\(index)", "value \(index)", in: keyspace) }
      try store.checkpoint()
      try store.delete("key-150", in: keyspace)
      try store.write { try $0.deleteRange(.between("key-160", "key-170"), in: keyspace) }
      try store.put("key-101", "new", in: keyspace)
    }
    let whole = try Salvage.all(of: bytes).entries
    let file = UnitReader(
      reader: try FileReader(DamagedFile(bytes)),
      codec: try SalvageIdentity(headerOf: DamagedFile(bytes)).codec
    )
    let base = try SalvageBase(file, SalvageSurvey(file))
    let root = try #require(base.checkpoint?.record.root)
    #expect(root.level == 0)
    let leaf = Int(root.reference.offset)
    bytes.replaceSubrange(
      leaf..<leaf + Int(root.reference.length),
      with: [UInt8](repeating: 0, count: Int(root.reference.length)))
    let (entries, report) = try Salvage.all(of: bytes)
    // The whole log survives from its first transaction, and replaces the leaf.
    #expect(entries == whole)
    #expect(entries[key(number, "key-150")] == nil && entries[key(number, "key-165")] == nil)
    #expect(report.lostRanges.map(\.what) == [.leaf] && report.missing == 0)
    // Without the commits, only the older leaf is left, and its entries may have been deleted
    // since.
    var worse = bytes
    var frames = UnitReader(reader: try FileReader(DamagedFile(bytes)), codec: file.codec)
      .soundFrames(from: FileLayout.logStart)
    while let piece = try frames.next() {
      guard case .frame(let header, _, _) = piece, header.kind == .commit, let end = header.end else {
        continue
      }
      let range = Int(header.ownOffset)..<Int(end)
      worse.replaceSubrange(range, with: [UInt8](repeating: 0, count: range.count))
    }
    let older = try Salvage.all(of: worse).entries
    for text in ["key-150", "key-165", "key-101"] {
      guard case .older = older[key(number, text)]?.trust else {
        Issue.record("\(text): \(String(describing: older[key(number, text)]?.trust))")
        continue
      }
    }
  }

  @Test func `a damaged commit does not hide the commits after it`() throws {
    let volume = MemoryVolume()
    var options = Store.Options()
    options.checkpointsInBackground = false
    options.compaction = .manual
    let store = try Store.open(
      at: "file", on: volume, mode: .createNew, options: options, environment: .system)
    let keyspace = try store.keyspace("fruit")
    for index in 100..<140 { try store.put("key-\(index)", "value \(index)", in: keyspace) }
    var bytes = try GoldenFiles.bytes(at: "file", on: volume)
    try store.close()
    bytes[try place(of: Array("value 120".utf8), in: bytes) + 7] ^= 1
    let (entries, report) = try Salvage.all(of: bytes)
    for index in 100..<140 where index != 120 {
      #expect(entries[key(keyspace.id, "key-\(index)")]?.trust == .certain, "\(index)")
    }
    // Only the checksum over this operation can prove it wrong, so it is not accepted as certain.
    #expect(entries[key(keyspace.id, "key-120")]?.trust != .certain)
    #expect(report.damagedLog.count == 1 && !report.isWhole)
  }

  // MARK: Any damage

  @Test func `an unreadable block is treated as zeros`() throws {
    let bytes = try SampleFile.compacted.bytes(length: 60_000, seed: 3)
    for start in stride(from: 16384, to: bytes.count - 4096, by: 4096) {
      var zeros = bytes
      zeros.replaceSubrange(start..<start + 4096, with: [UInt8](repeating: 0, count: 4096))
      let bad = UInt64(start)..<UInt64(start + 4096)
      let (entries, report) = try Salvage.all(of: bytes, unreadable: [bad])
      #expect(entries == (try Salvage.all(of: zeros).entries))
      #expect(report.unreadable == [bad] && !report.isWhole)
    }
  }

  @Test(arguments: SampleFile.allCases) func `everything salvaged from a truncated file is right`(
    kind: SampleFile
  )
    throws
  {
    let bytes = try kind.bytes(length: 40_000, seed: 4)
    let whole = try Salvage.all(of: bytes).entries
    for length in stride(from: 0, to: bytes.count, by: 3001) {
      let cut = Array(bytes[..<length])
      guard length >= 8192 else {
        do { _ = try Salvage.all(of: cut) } catch is StorageError {}
        continue
      }
      let (entries, _) = try Salvage.all(of: cut)
      #expect(length < bytes.count * 3 / 4 || !entries.isEmpty)
      if kind == .compacted {
        for (key, entry) in entries where entry.trust == .certain {
          #expect(whole[key]?.value == entry.value)
        }
      }
    }
  }

  @Test func `garbage never traps`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    for _ in 0..<60 {
      var bytes = try random.pick(SampleFile.allCases).bytes(length: 20_000, seed: random.next() % 4)
      switch random.below(3) {
      case 0:
        for _ in 0..<1 + random.below(200) {
          bytes[16384 + random.below(bytes.count - 16384)] = UInt8(random.below(256))
        }
      case 1:
        for _ in 0..<1 + random.below(6) {
          let start = 8192 + random.below(bytes.count - 8192)
          let end = min(bytes.count, start + 1 + random.below(9000))
          bytes.replaceSubrange(start..<end, with: random.bytes(end - start))
        }
      default:
        // Pieces of the file at wrong offsets.
        for _ in 0..<4 {
          let from = 16384 + random.below(bytes.count - 16384 - 2048)
          let to = 16384 + random.below(bytes.count - 16384 - 2048)
          bytes.replaceSubrange(to..<to + 2048, with: Array(bytes[from..<from + 2048]))
        }
      }
      do { _ = try Salvage.all(of: bytes) } catch let fault as StorageError {
        #expect(fault.kind == .damaged, "\(random.replay)")
      }
    }
  }

  @Test(arguments: GoldenFiles.names) func `every golden file is salvaged`(name: String) throws {
    let bytes = try GoldenFiles.bytes(name)
    var read: [[UInt8]: [UInt8]]?
    do {
      let store = try Store.open(
        at: "file", on: try GoldenFiles.volume(bytes), mode: .readOnly, options: .init(), environment: .system
      )
      var entries: [[UInt8]: [UInt8]] = [:]
      for keyspace in try store.keyspaces() {
        for entry in try store.entries(in: keyspace) {
          entries[withUnsafeBytes(of: keyspace.id.bigEndian) { Array($0) } + entry.key] = entry.value
        }
      }
      read = try store.verify().isSound ? entries : nil
      try store.close()
    } catch is StoreError {
      // No reader can open this file.
    }
    let saved: [[UInt8]: SavedEntries.Saved]
    do {
      saved = try Salvage.all(of: bytes).entries
    } catch let fault as StorageError {
      #expect(read == nil, "\(fault)")
      return
    }
    // Entries from after the log are never certain, and only replace existing ones if they may be
    // newer.
    guard let read else { return }
    for (key, value) in read {
      #expect(saved[key]?.value == value || saved[key]?.trust == .unproven, "\(key)")
    }
    for (key, entry) in saved where !key.starts(with: [0, 0, 0, 0]) && entry.trust == .certain {
      #expect(read[key] == entry.value, "\(key)")
    }
  }
}
