import LatewoodSimulation
import LatewoodTestSupport
import Testing

@testable import LatewoodStore

/// An open store with most of its entries still in the log, and its expected answers. The bytes of
/// its file can be changed under it.
final class RottenLog {
  let volume = SimulatedVolume(seed: 24)
  let store: Store
  let space: Keyspace
  let other: Keyspace
  let old: Snapshot
  private(set) var model: [[UInt8]: [UInt8]] = [:]
  private(set) var sorted: [[UInt8]] = []
  /// The range of the log that is not in a checkpoint.
  let log: Range<Int>
  /// The number of damages that may lead to a wrong answer: by chance, one changed record in 8,192
  /// has the same tag. Without tags nearly every one would.
  var toleratedDamages = 0
  private var missedDamages: Set<String> = []
  private var damage = ""

  /// - Parameters:
  ///   - number: the approximate number of entries that are not in a checkpoint.
  ///   - extents: whether some of their values are too long to be inline in the tree.
  init(entries number: Int = 60, extents: Bool = false) throws {
    var options = Store.Options()
    // A cache would hold copies of the log and hide the damage.
    options.reading = .mapped
    options.compaction = .manual
    options.checkpointsInBackground = false
    options.punchesHoles = false
    let store = try Store.open(
      at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
    let space = try store.keyspace("early")
    self.store = store
    self.space = space
    for index in 0..<40 { try store.put("base \(100 + index)", "b\(index)", in: space) }
    for index in 0..<40 { model[Array("base \(100 + index)".utf8)] = Array("b\(index)".utf8) }
    try store.checkpoint()
    old = try store.snapshot()
    let start = Int(try store.statistics().logEnd)
    other = try store.keyspace("late")
    // Runs of equal heads, in which the bytes after the first four decide the order.
    try store.write { transaction in
      for index in 0..<number / 2 {
        try transaction.put("same \(1000 + index * 7 % 997)", Self.value(index, extents), in: space)
      }
      try transaction.deleteRange(.between("base 110", "base 120"), in: space)
    }
    for index in 0..<number / 2 {
      model[Array("same \(1000 + index * 7 % 997)".utf8)] = Self.value(index, extents)
    }
    for index in 10..<20 { model[Array("base \(100 + index)".utf8)] = nil }
    for index in 0..<number / 4 {
      try store.put("\(index * 31 % 101) apart", Self.value(index, extents), in: space)
      model[Array("\(index * 31 % 101) apart".utf8)] = Self.value(index, extents)
      try store.put("late \(index)", "l\(index)", in: other)
    }
    for index in [0, 3, 25] {
      try store.delete("base \(100 + index)", in: space)
      model[Array("base \(100 + index)".utf8)] = nil
    }
    try store.put("base 105", "again", in: space)
    model[Array("base 105".utf8)] = Array("again".utf8)
    try store.put("base 115", "anew", in: space)
    model[Array("base 115".utf8)] = Array("anew".utf8)
    log = start..<Int(try store.statistics().logEnd)
    sorted = model.keys.sorted { $0.isBefore($1) }
  }

  private static func value(_ index: Int, _ extents: Bool) -> [UInt8] {
    [UInt8](
      repeating: UInt8(index % 200 + 1), count: extents && index % 3 == 0 ? 700 : index % 5 == 0 ? 200 : 20)
  }

  func put(_ key: String, _ value: [UInt8]) throws {
    try store.put(key, value, in: space)
    model[Array(key.utf8)] = value
    sorted = model.keys.sorted { $0.isBefore($1) }
  }

  // MARK: Changing the file

  /// Overwrites bytes of the file, live and on the disk.
  /// - Returns: a closure that restores the old bytes.
  func overwrite(_ bytes: [UInt8], at offset: Int) throws -> () throws -> Void {
    let before = try volume.liveBytes(of: "db")
    let masks = bytes.enumerated().map { $1 ^ before[offset + $0] }
    let volume = volume
    let flip = {
      for (index, mask) in masks.enumerated() where mask != 0 {
        try volume.corrupt("db", at: offset + index, xor: mask)
      }
    }
    try flip()
    return flip
  }

  /// The last offset at which the file has these bytes.
  func find(_ wanted: [UInt8]) throws -> Int? {
    let bytes = try volume.liveBytes(of: "db")
    return (0...bytes.count - wanted.count).last {
      bytes[$0] == wanted[0] && bytes[$0..<$0 + wanted.count].elementsEqual(wanted)
    }
  }

  // MARK: Reading all of it

  /// Runs `body`, whose result must be right or one of these errors. Returns whether it was right.
  @discardableResult
  private func ask(
    _ what: String, expecting codes: Set<StoreError.Code> = [.damaged], _ body: () throws -> Bool
  ) -> Bool {
    do {
      if try body() { return true }
      missedDamages.insert(damage)
      if missedDamages.count > toleratedDamages { Issue.record("\(what): a wrong answer") }
    } catch let error as StoreError {
      if !codes.contains(error.code) { Issue.record("\(what): \(error)") }
    } catch {
      Issue.record("\(what): \(error)")
    }
    return false
  }

  /// Makes every kind of read. Returns whether all were right.
  @discardableResult
  func readAll(_ context: String) -> Bool {
    damage = context
    var isRight = true
    func check(_ what: String, _ body: () throws -> Bool) {
      if !ask("\(context): \(what)", body) { isRight = false }
    }
    check("get") { try sorted.allSatisfy { try store.get($0, in: space) == model[$0] } }
    for key in sorted { check("get") { try store.get(key, in: space) == model[key] } }
    for key in ["base 110", "base 103", "same 0999", "same 10010", "zzz"] {
      check("get of what is not there") { try store.get(key, in: space) == nil }
    }
    check("forEach") { try collect(store, reversed: false) == sorted }
    check("forEach backwards") { try collect(store, reversed: true) == sorted.reversed() }
    check("count") { try store.count(in: space) == sorted.count }
    check("count of the other") {
      var count = 0
      try store.forEach(in: other) { _, _ in
        count += 1
        return true
      }
      return try store.count(in: other) == count
    }
    for index in stride(from: 0, to: sorted.count, by: 7) {
      check("rank") { try store.rank(of: sorted[index], in: space) == index }
      check("key(at:)") { try store.key(at: index, in: space) == sorted[index] }
    }
    check("cursor") {
      let cursor = try store.cursor(in: space)
      for key in sorted.prefix(20) {
        guard try cursor.seek(to: key), try cursor.key() == key, try cursor.value() == model[key] else {
          return false
        }
        _ = try cursor.seek(before: key)
        if try cursor.next(), try cursor.key() != key { return false }
      }
      return true
    }
    check("first and last") {
      try store.first(in: space)?.key == sorted.first && store.last(in: space)?.key == sorted.last
    }
    check("keyspaces") { try store.keyspaces().map(\.name) == ["early", "late"] }
    check("snapshot") {
      let snapshot = try store.snapshot()
      defer { snapshot.close() }
      var changed = 0
      try snapshot.changes(since: old, in: space) { change in
        changed += model[change.key] == change.new ? 1 : 1000
        return true
      }
      return try collect(snapshot, reversed: false) == sorted && changed < 1000
    }
    return isRight
  }

  private func collect(_ reads: some Readable, reversed: Bool) throws -> [[UInt8]] {
    var keys: [[UInt8]] = []
    var isRight = true
    try reads.forEach(in: space, reversed: reversed) { key, value in
      let key = key.withUnsafeBytes { Array($0) }
      if value.withUnsafeBytes({ Array($0) }) != model[key] { isRight = false }
      keys.append(key)
      return true
    }
    return isRight ? keys : []
  }

  /// Makes operations of every kind, in transactions that are aborted or fail because of the
  /// damage.
  func writeAndGiveUp(_ context: String) {
    damage = context
    for key in ["same 1003", "base 112", "m", "5 apart", "same 1"] {
      ask("\(context): a transaction", expecting: [.damaged, .poisoned]) {
        do {
          try store.write { transaction in
            _ = try transaction.get(key, in: space)
            try transaction.put(key, "new", in: space)
            try transaction.delete(key + "0", in: space)
            _ = try transaction.count(in: space)
            try transaction.deleteRange(.between("same 10", "same 11"), in: space)
            _ = try transaction.keyspace("newer")
            throw OnPurpose()
          } as Void
          return false
        } catch is OnPurpose {
          return true
        }
      }
    }
  }
}
