import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodDocuments
import LatewoodFleece
import LatewoodStore

/// Real file systems without any space left, where deleting must free space. They are filled by
/// puts, or by another program while the database already has its data.
struct FullRun {
  private static let room = 8 << 20

  private let programs: MountPrograms
  private let root: String
  private var disk: String { "\(root)/disk" }
  private var image: String { "\(root)/image" }
  private var path: String { "\(disk)/db" }

  static func run() throws {
    do {
      let root = try Directories.makeTemporary("latewood-full")
      let run = FullRun(programs: try MountPrograms(), root: root)
      try Directories.make(run.disk)
      for kind in ["tmpfs", "ext4", "xfs"] { try run.each(kind) }
      try Directories.removeTree(root)
    } catch let reason as Skipped {
      Main.say("KillRun: SKIPPED: full disks: \(reason)")
    }
  }

  private func each(_ kind: String) throws {
    var count = 0
    for length in [20, 100, 1000, 9000, 200_000, 1 << 20] {
      for isFilledByOthers in [false, true] {
        let what = "values of \(length) bytes, \(isFilledByOthers ? "filled by others" : "filled")"
        guard try on(kind, what, { try entries(length, isFilledByOthers) }) else { return }
        count += 1
      }
    }
    for purges in [false, true] {
      _ = try on(kind, purges ? "purged documents" : "deleted documents") { try documents(purges: purges) }
      count += 1
    }
    Main.say("KillRun: \(count) full disks, \(kind), all freed by deleting")
  }

  /// Calls a closure on a new file system; returns false if it cannot be created here.
  private func on(_ kind: String, _ what: String, _ body: () throws -> Void) throws -> Bool {
    if try FileVolume().exists(image) { try FileVolume().remove(image) }
    do {
      if kind == "tmpfs" {
        try programs.mountMemory(at: disk, length: FullRun.room)
      } else {
        try MountPrograms.makeImage(image, length: kind == "ext4" ? 9 << 20 : 320 << 20)
        try programs.mount(image, as: kind, at: disk)
      }
    } catch let reason as Skipped {
      Main.say("KillRun: SKIPPED: full disks, \(kind): \(reason)")
      return false
    }
    let result = Result { try body() }
    try programs.unmount(disk)
    do { try result.get() } catch { throw Failure("\(kind), \(what): \(error)") }
    return true
  }

  // MARK: Entries

  private static func key(_ number: Int) -> String {
    "\(UInt32(truncatingIfNeeded: number &* 2_654_435_761))"
  }

  private static func value(_ number: Int, _ length: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: length)
  }

  private func entries(_ length: Int, _ isFilledByOthers: Bool) throws {
    try leave(FullRun.room)
    var store = try Store.open(at: path, mode: .createNew)
    let space = try store.keyspace("a")
    let batch = max(1, 2000 / length)
    var all: [Int] = []
    func put(_ numbers: Range<Int>) throws {
      try store.write { transaction in
        for number in numbers { try transaction.put(Self.key(number), Self.value(number, length), in: space) }
      }
    }
    if isFilledByOthers {
      while all.count * (length + 30) < 1 << 20 {
        try put(all.count..<all.count + batch)
        all += all.count..<all.count + batch
      }
      try leave(0)
    } else {
      all = try fill { try put($0 * batch..<($0 + 1) * batch) }.flatMap { $0 * batch..<($0 + 1) * batch }
    }
    for start in stride(from: 0, to: all.count, by: max(1, all.count / 100)) {
      try step("delete \(start) of \(all.count)") {
        try store.write { transaction in
          for index in start..<min(start + max(1, all.count / 100), all.count) where index % 2 == 0 {
            try transaction.delete(Self.key(all[index]), in: space)
          }
        }
      }
    }
    var left = all.indices.filter { $0 % 2 == 1 }.map { all[$0] }
    for number in 1_000_000..<1_000_000 + all.count / 4 {
      try step("put \(number - 1_000_000) of \(all.count / 4) after deleting half") {
        try again(compact: { _ = try? store.compact() }, put: { try put(number..<number + 1) })
      }
      left.append(number)
    }
    for reopens in [false, true] {
      if reopens {
        try store.close()
        store = try Store.open(at: path, mode: .openExisting)
      }
      let space = try store.keyspace("a")
      guard try store.count(in: space) == left.count else { throw Failure("another count") }
      for number in left where try store.get(Self.key(number), in: space) != Self.value(number, length) {
        throw Failure("another value of \(number)")
      }
    }
    try store.close()
  }

  // MARK: Documents

  private func documents(purges: Bool) throws {
    try leave(FullRun.room)
    let store = try DocumentStore.open(at: path, mode: .createNew)
    let collection = try store.createCollection("a")
    let text = String(repeating: "x", count: 900)
    func save(_ number: Int) throws {
      let body = try JSON.fleece(from: #"{"number":\#(number),"text":"\#(text)"}"#)
      try store.write { try $0.save("\(number)", in: collection, body: body, parent: nil) }
    }
    let all = try fill { try save($0) }
    let body = try JSON.fleece(from: "{}")
    for number in all where number % 2 == 0 {
      try store.write { writer in
        if purges {
          try writer.purge("\(number)", in: collection)
        } else {
          try writer.save(
            "\(number)", in: collection, body: body, parent: nil, isDeleted: true, policy: .lastWriteWins)
        }
      }
    }
    // The bodies of deleted documents stay until the next compaction.
    if !purges { _ = try? store.compact() }
    for number in 1_000_000..<1_000_000 + all.count / 4 {
      try again(compact: { _ = try? store.compact() }, put: { try save(number) })
    }
    let faults = try store.verify().faults
    guard faults.isEmpty else { throw Failure("documents: \(faults)") }
    try store.close()
  }

  /// Calls a closure, and adds a description of the step to its errors.
  private func step(_ what: @autoclosure () -> String, _ body: () throws -> Void) throws {
    do { try body() } catch { throw Failure("\(what()): \(error)") }
  }

  // MARK: Space

  /// Calls a closure with 0, 1 ... until two calls in a row are refused. Returns the numbers of the
  /// successful calls.
  private func fill(_ put: (Int) throws -> Void) throws -> [Int] {
    var done: [Int] = []
    var number = 0
    var refusals = 0
    while refusals < 2 {
      do {
        try put(number)
        done.append(number)
        refusals = 0
      } catch {
        guard Self.isFull(error) else { throw error }
        refusals += 1
      }
      number += 1
    }
    return done
  }

  /// Calls `put` until it succeeds, with a compaction now and then. The reserve may be lent to a
  /// compaction that the store has begun itself.
  private func again(compact: () -> Void, put: () throws -> Void) throws {
    for attempt in 0...100 {
      do { return try put() } catch {
        guard Self.isFull(error), attempt < 100 else { throw error }
        if attempt > 1 { Monitor.sleep(milliseconds: 20) }
        if attempt % 10 == 1 { compact() }
      }
    }
  }

  private static func isFull(_ error: any Error) -> Bool {
    (error as? StoreError)?.code == .outOfSpace || (error as? DatabaseError)?.store?.code == .outOfSpace
  }

  /// Fills the disk with another file, except for a number of bytes.
  private func leave(_ bytes: Int) throws {
    let name = "\(disk)/others"
    let mode: OpenMode = try FileVolume().exists(name) ? .readWrite : .createExclusive(permissions: 0o600)
    let file = try FileVolume().open(name, mode)
    defer { file.close() }
    var at = try file.size()
    for length in [1 << 20, 4096] {
      let piece = [UInt8](repeating: 1, count: length)
      while Int(file.freeSpace() ?? 0) >= bytes + length {
        do {
          try piece.withUnsafeBytes { try file.write($0, at: at) }
          at += UInt64(length)
        } catch { break }
      }
    }
    try file.sync()
  }
}
