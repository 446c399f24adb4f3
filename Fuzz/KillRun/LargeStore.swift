import LatewoodDevice
import LatewoodStore

/// A store of 100 MiB in a process with a limited address space: opened, written, compacted, and
/// opened again.
enum LargeStore {
  private static let count = 100
  /// The number of entries that are overwritten, so that a compaction has space to free.
  private static let overwritten = 25
  private static let length = 1 << 20

  /// Runs the parts one after the other. A closed store keeps its addresses until its last
  /// reference is released, so each part has a separate store.
  static func run(_ path: String) throws {
    try fill(path)
    try compact(path)
    let store = try Store.open(at: path, mode: .readOnly)
    try check(store)
    try store.close()
  }

  private static func fill(_ path: String) throws {
    let store = try Store.open(at: path, mode: .createNew)
    let space = try store.keyspace("large")
    for round in 0..<2 {
      for number in 0..<(round == 0 ? count : overwritten) {
        try store.put("\(number)", value(number + round), in: space, durability: .relaxed)
      }
      try store.sync()
    }
    try store.close()
  }

  private static func compact(_ path: String) throws {
    let store = try Store.open(at: path, mode: .openExisting)
    _ = try store.compact()
    try check(store)
    try store.put("after", "1", in: store.keyspace("large"))
    try store.close()
  }

  private static func value(_ number: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: length + number)
  }

  private static func check(_ store: Store) throws {
    let space = try store.keyspace("large")
    for number in 0..<count {
      guard try store.get("\(number)", in: space) == value(number + (number < overwritten ? 1 : 0)) else {
        throw Failure("the entry \(number) is not what was put")
      }
    }
    let faults = try store.verify().faults
    guard faults.isEmpty else { throw Failure("\(faults)") }
  }
}
