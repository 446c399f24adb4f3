import LatewoodDevice
import LatewoodSimulation
import LatewoodStore

/// The bytes of a database file in which tests destroy parts.
enum SampleFile: String, CaseIterable {
  /// A compacted file: every entry is in it once.
  case compacted
  /// A file after some checkpoints, with overwrites and deletes in between.
  case worked
  /// A file after a crash, with much log that no checkpoint contains.
  case crashed
  /// A compacted file with work after it.
  case goneOn

  /// Options for a store without background work, so that the test alone determines the file.
  static var options: Store.Options {
    var options = Store.Options()
    options.checkpointsInBackground = false
    options.compaction = .manual
    options.durability = .relaxed
    options.punchesHoles = false
    return options
  }

  /// Returns a file of about `length` bytes. Some values are large, and some transactions delete a
  /// range. Keys are text of one length, text of many lengths, or numbers.
  func bytes(length: Int, seed: UInt64) throws -> [UInt8] {
    let volume = MemoryVolume()
    let store = try Store.open(
      at: "sample", on: volume, mode: .createNew, options: Self.options, environment: .system)
    var random = SeededRandom(seed: seed)
    let names = ["fruit", "roots", "leaves"]
    for name in names { _ = try store.keyspace(name) }
    func work(_ bytes: Int, checkpoints: Int) throws {
      var done = 0
      for part in 1...checkpoints + 1 {
        while done < bytes / (checkpoints + 1) * part {
          let keyspace = try store.keyspace(random.pick(names))
          try store.write { transaction in
            for _ in 0..<1 + random.below(40) {
              let key = Self.key(random.below(length / 100), in: keyspace)
              if random.oneIn(12) {
                try transaction.delete(key, in: keyspace)
              } else {
                let value = random.bytes(random.oneIn(30) ? 600 + random.below(6000) : random.below(200))
                try transaction.put(key, value, in: keyspace)
                done += value.count + 40
              }
            }
            if random.oneIn(40) {
              let key = Self.key(random.below(length / 100), in: keyspace)
              try transaction.deleteRange(.between(key, key + [0x35]), in: keyspace)
            }
          }
        }
        if part <= checkpoints { try store.checkpoint() }
      }
    }
    switch self {
    case .compacted:
      try work(length * 5 / 4, checkpoints: 1)
      try store.compact()
    case .worked: try work(length * 2 / 3, checkpoints: 4)
    case .crashed: try work(length * 3 / 4, checkpoints: 1)
    case .goneOn:
      try work(length * 2 / 3, checkpoints: 1)
      try store.compact()
      try work(length / 5, checkpoints: 1)
    }
    if self == .crashed {
      try store.sync()
    } else {
      try store.close()
    }
    let device = try volume.open("sample", .readOnly)
    defer { device.close() }
    var bytes = [UInt8](repeating: 0, count: Int(try device.size()))
    _ = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
    return bytes
  }

  private static func key(_ number: Int, in keyspace: Keyspace) -> [UInt8] {
    switch keyspace.name {
    case "roots": return Array("\(["oak", "pine", "yew"][number % 3])/\(number / 3)".utf8)
    case "leaves": return withUnsafeBytes(of: UInt64(number * number).bigEndian) { Array($0) }
    default: return Array("entry-\(1_000_000 + number)".utf8)
    }
  }
}
