import LatewoodBytes
import LatewoodDevice
import LatewoodStore

/// What is done with every input: the bytes as a database file, opened for reading, everything in it read and verified; then opened for
/// writing, written to, merged, closed. Any error is right; a trap or a hang is a find.
enum OpenAndRead {
  static func run(_ input: UnsafeRawBufferPointer) {
    visit(input, .readOnly)
    visit(input, .openExisting)
  }

  private static func visit(_ input: UnsafeRawBufferPointer, _ mode: Store.OpenMode) {
    do {
      let volume = MemoryVolume()
      try volume.open("db", .createExclusive(permissions: 0o600)).write(input, at: 0)
      var options = Store.Options()
      options.checkpointsInBackground = false
      options.nodeSize = 1024
      let store = try Store.open(at: "db", on: volume, mode: mode, options: options, environment: .system)
      tolerate { _ = try store.statistics() }
      tolerate { _ = try store.verify() }
      tolerate { for checkpoint in try store.history() { try read(store.snapshot(asOf: checkpoint)) } }
      tolerate { try read(store) }
      if mode != .readOnly {
        tolerate {
          let space = try store.keyspace("fuzz")
          try store.write { transaction in
            try transaction.put("key", "value", in: space)
            try transaction.deleteRange(.from("m"), in: space)
          }
        }
        tolerate { try store.checkpoint() }
        tolerate { try read(store) }
      }
      try store.close()
    } catch {
      // A typed error is what bad bytes are to give.
    }
  }

  private static func read(_ source: some Readable) throws {
    for space in try source.keyspaces() {
      tolerate { try source.forEach(in: space) { _, _ in true } }
      tolerate { try source.forEach(in: space, reversed: true) { _, _ in true } }
      tolerate {
        let count = try source.count(in: space)
        _ = try source.key(at: count / 2, in: space)
        _ = try source.rank(of: "m", in: space)
      }
    }
  }

  private static func tolerate(_ body: () throws -> Void) {
    do { try body() } catch {
      // One part of the file may be damaged and the next readable.
    }
  }
}

/// The entry of libFuzzer.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafeRawPointer?, _ count: Int) -> Int32 {
  OpenAndRead.run(UnsafeRawBufferPointer(start: start, count: count))
  return 0
}
