import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import LatewoodStore

/// Bytes as a database file: opened, read and verified completely; then written to, merged, closed
/// and opened again.
///
/// Any error is correct as long as nothing has been acknowledged; everything acknowledged must
/// exist.
final class OpenTarget: FuzzTarget {
  var longest: Int { 128 << 10 }

  func repair(_ bytes: inout [UInt8]) { FileRepair.run(&bytes) }
  func window(_ bytes: [UInt8], _ random: inout SeededRandom) -> Range<Int>? {
    FileRepair.window(bytes, &random, nodes: true)
  }

  func run(_ input: UnsafeRawBufferPointer) {
    // A reader waits for a tenth of a second before it reports damage, because a writer may be at
    // work. So only some inputs are read that way.
    if let start = input.baseAddress, XXH64.hash(start, input.count, seed: 0) & 63 == 0 {
      tolerate {
        let store = try open(volume(input), .readOnly)
        readAll(store)
        try store.close()
      }
    }
    tolerate {
      let volume = try volume(input)
      let store = try open(volume, .openExisting)
      let isSound = try store.verify().faults.isEmpty
      readAll(store)
      do {
        let space = try store.keyspace("fuzz")
        try store.write { transaction in
          try transaction.deleteRange(.from("m"), in: space)
          try transaction.put("key", "value", in: space)
        }
      } catch {
        // In a sound file, numbers and offsets may still be near their limits.
        let code = (error as? StoreError)?.code
        if isSound, code != .fileTooLarge { find("a sound store cannot be written to: \(error)") }
        throw error
      }
      tolerate { try store.checkpoint() }
      tolerate { try read(store) }
      var isClosed = false
      tolerate {
        try store.close()
        isClosed = true
      }
      guard isSound else { return }
      if !isClosed { find("a sound store cannot be closed") }
      do { try check(volume) } catch { find("a store that was sound cannot be read: \(error)") }
    }
  }

  private func volume(_ input: UnsafeRawBufferPointer) throws -> MemoryVolume {
    let volume = MemoryVolume()
    try volume.open("db", .createExclusive(permissions: 0o600)).write(input, at: 0)
    return volume
  }

  private func open(_ volume: MemoryVolume, _ mode: Store.OpenMode) throws -> Store {
    var options = Store.Options()
    options.checkpointsInBackground = false
    options.compaction = .manual
    options.nodeSize = 1024
    return try Store.open(at: "db", on: volume, mode: mode, options: options, environment: .system)
  }

  /// Checks that a sound file is still sound after it was written to.
  private func check(_ volume: MemoryVolume) throws {
    let store = try open(volume, .openExisting)
    guard let space = try store.existingKeyspace("fuzz"),
      try store.get("key", in: space) == Array("value".utf8)
    else {
      find("what was written is gone")
    }
    let faults = try store.verify().faults
    if !faults.isEmpty { find("a sound store is not so after a write: \(faults)") }
    try store.close()
  }

  private func readAll(_ store: Store) {
    tolerate { _ = try store.statistics() }
    tolerate {
      for checkpoint in try store.history().prefix(4) { try read(store.snapshot(asOf: checkpoint)) }
    }
    tolerate { try read(store) }
  }

  private func read(_ source: some Readable) throws {
    for space in try source.keyspaces().prefix(16) {
      tolerate { try source.forEach(in: space) { _, _ in true } }
      tolerate { try source.forEach(in: space, reversed: true) { _, _ in true } }
      tolerate {
        let count = try source.count(in: space)
        _ = try source.key(at: count / 2, in: space)
        _ = try source.rank(of: "m", in: space)
      }
    }
  }
}
