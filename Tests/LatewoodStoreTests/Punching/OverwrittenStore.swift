import LatewoodBytes
import LatewoodDevice

@testable import LatewoodStore

/// A store of few keys that are all overwritten together, so that much of its file becomes dead.
enum OverwrittenStore {
  static func options(threshold: UInt64 = 1, whole: Int = 1) -> Store.Options {
    var options = Store.Options()
    options.durability = .relaxed
    options.checkpointsInBackground = false
    options.nodeSize = 1024
    options.inlineValueLimit = 64
    options.punchingThreshold = threshold
    options.wholeCheckpoints = whole
    return options
  }

  static func open(
    _ volume: any Volume, _ mode: Store.OpenMode = .openOrCreate, whole: Int = 1
  ) throws -> Store {
    try Store.open(
      at: "db", on: volume, mode: mode, options: options(whole: whole), environment: .system)
  }

  static func key(_ number: Int) -> String { "key\(10000 + number)" }

  /// Puts one value for all of `keys`, every seventh of them large, and writes a checkpoint.
  static func fill(_ store: Store, _ byte: UInt8, _ keys: Range<Int> = 0..<400) throws {
    let space = try store.keyspace("a")
    try store.write { transaction in
      for number in keys {
        let length = number % 7 == 3 ? 900 : 50
        try transaction.put(key(number), [UInt8](repeating: byte, count: length), in: space)
      }
    }
    try store.checkpoint()
  }

  /// Whether every value of every key in `readable` consists of `byte`.
  static func shows(
    _ byte: UInt8, _ readable: some Readable, _ store: Store, _ keys: Range<Int> = 0..<400
  ) throws -> Bool {
    let entries = try readable.entries(in: store.keyspace("a"))
    let numbers = entries.map { String(decoding: $0.key, as: UTF8.self) }
    return numbers == keys.map { key($0) } && entries.allSatisfy { $0.value.allSatisfy { $0 == byte } }
  }
}
