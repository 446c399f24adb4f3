import LatewoodDevice
import LatewoodStore

/// The demo from beginning to end, on a database of its own in the directory for temporary files.
final class DemoRun {
  private let directory: String
  let path: String
  private let console: Console
  private(set) var steps: [DemoStep] = []
  var isKept: Bool { steps.allSatisfy(\.isKept) }

  init(on console: Console) throws(Failure) {
    self.console = console
    do { directory = try Directories.makeTemporary("latewood-demo") } catch { throw Failure(error) }
    path = "\(directory)/demo.latewood"
  }

  func run() throws(Failure) {
    do {
      var store = try Store.open(at: path, mode: .createNew)
      try readAndWrite(store)
      try store.close()
      let acknowledged = try killWriter()
      store = try reopen()
      try checkAcknowledged(acknowledged, in: store)
      try checkSoundness(of: store)
      try store.close()
    } catch { throw Failure(error) }
  }

  /// Removes the directory.
  func cleanUp() throws(Failure) {
    do { try Directories.removeTree(directory) } catch { throw Failure(error) }
  }

  // MARK: Reading and writing

  private func readAndWrite(_ store: Store) throws {
    let entries = TreeCores.entries()
    let cores = try store.keyspace("cores")
    try step("import") {
      try store.write { transaction in
        for entry in entries { try transaction.put(entry.key, entry.value, in: cores) }
      }
      let count = try store.count(in: cores)
      return (count == entries.count, "Imported \(count) tree cores in one durable transaction.")
    }
    try step("get") {
      let entry = entries[16]
      let value = try store.get(entry.key, in: cores)
      return (
        value == Array(entry.value.utf8),
        "Read \(entry.key): \(Quantity.count(value?.count ?? 0)) bytes, as they were put."
      )
    }
    try step("range") {
      var keys: [[UInt8]] = []
      try store.forEach(in: cores, .prefix("quercus-")) { key, _ in
        keys.append(key.bytes())
        return true
      }
      let expected = entries.map { Array($0.key.utf8) }.filter { $0.starts(with: "quercus-".utf8) }
        .sorted { $0.lexicographicallyPrecedes($1) }
      return (keys == expected, "Read the range quercus-: \(keys.count) oaks, in order.")
    }
    try step("count") {
      let count = try store.count(in: cores, .between("a", "q"))
      let rank = try store.rank(of: "quercus-robur/", in: cores)
      let expectedRank = entries.count { $0.key < "quercus-robur/" }
      return (
        rank == expectedRank && count == entries.count { $0.key < "q" },
        "Counted without reading: \(count) keys from a to p; quercus-robur/ would be key number \(rank)."
      )
    }
  }

  // MARK: The kill

  /// Lets a child process write, kills it in the middle, and returns the last transaction that it said was durable.
  private func killWriter() throws -> Int {
    var acknowledgements = Acknowledgements()
    try step("kill") {
      let child = try ChildProcess(
        try CurrentProcess.executablePath(), arguments: [CommandDescription.demoWriter.name, path])
      let start = MonotonicClock.nanoseconds
      while try acknowledgements.read(from: child) {
        // Half a second, or a thousand: enough to be in the thick of it on fast and on slow disks.
        let elapsed = MonotonicClock.nanoseconds &- start
        if acknowledgements.last >= 1000 || (elapsed > 500_000_000 && acknowledgements.last > 0) { break }
      }
      try child.kill()
      let wasRunning = try child.wait() == nil
      // What the child had said before it died is still in the pipe.
      while try acknowledgements.read(from: child) {}
      return (
        wasRunning && acknowledgements.last > 0 && acknowledgements.isInOrder,
        "Killed a process (kill -9) while it was writing; it had \(Quantity.count(acknowledgements.last)) "
          + "transactions acknowledged as durable."
      )
    }
    return acknowledgements.last
  }

  private func reopen() throws -> Store {
    var opened: Store?
    try step("recovery") {
      let store = try Store.open(at: path, mode: .openExisting)
      opened = store
      let report = store.recovery
      var text =
        "Opened it again: replayed \(Quantity.count(report.replayedTransactions, "transaction", "transactions")), "
      text += "\(Quantity.bytes(report.replayedBytes)) of log; "
      text +=
        report.tornTail.map { "skipped \(Quantity.bytes(UInt64($0.count))) of a torn write." }
        ?? "no torn write."
      return (true, text)
    }
    guard let opened else { throw Failure(.no, code: "notOpened", "the database did not open again") }
    return opened
  }

  private func checkAcknowledged(_ acknowledged: Int, in store: Store) throws {
    try step("acknowledged") {
      guard let keyspace = try store.existingKeyspace(DemoWriter.keyspaceName) else {
        return (false, "Nothing that the killed process wrote is there.")
      }
      let halves = [DemoWriter.first, DemoWriter.second]
      var missing = 0
      for number in stride(from: 1, through: acknowledged, by: 1) {
        for half in halves
        where try store.get(DemoWriter.key(half, number), in: keyspace) != DemoWriter.value(half, number) {
          missing += 1
        }
      }
      let found = try halves.map { try store.count(in: keyspace, .prefix($0)) }
      // The kill can fall between the commit and its acknowledgement: one more is no less.
      let isWhole = found[0] == found[1] && (acknowledged...acknowledged + 1).contains(found[0])
      return (
        missing == 0 && isWhole,
        "Checked all \(Quantity.count(acknowledged)) acknowledged transactions: "
          + (missing == 0 ? "every byte is there" : "\(Quantity.count(missing)) entries are missing")
          + (isWhole ? ", none by halves." : ", but others are there by halves.")
      )
    }
    try step("untouched") {
      let cores = try store.keyspace("cores")
      let count = try TreeCores.entries().count { try store.get($0.key, in: cores) == Array($0.value.utf8) }
      return (
        count == TreeCores.count,
        "Checked what was there before: \(count) of \(TreeCores.count) tree cores as they were."
      )
    }
  }

  private func checkSoundness(of store: Store) throws {
    try step("verify") {
      try store.checkpoint()
      let report = try store.verify()
      return (
        report.isSound,
        "Wrote a checkpoint and verified the file: \(Quantity.count(report.nodes, "node", "nodes")), "
          + "\(Quantity.count(report.entries, "entry", "entries")), \(Quantity.count(report.faults.count, "fault", "faults"))."
      )
    }
    try step("space") {
      let statistics = try store.statistics()
      return (
        statistics.liveBytes <= statistics.fileSize,
        "The file has \(Quantity.bytes(statistics.fileSize)): \(Quantity.bytes(statistics.liveBytes)) live, "
          + "\(Quantity.bytes(statistics.deadBytes)) dead (earlier states, log that has been merged)."
      )
    }
  }

  private func step(_ name: String, _ body: () throws -> (isKept: Bool, text: String)) throws {
    let start = MonotonicClock.nanoseconds
    let (isKept, text) = try body()
    let nanoseconds = MonotonicClock.nanoseconds &- start
    let step = DemoStep(name: name, isKept: isKept, text: text, nanoseconds: nanoseconds)
    steps.append(step)
    if !console.printsJSON { try step.print(on: console) }
  }
}
