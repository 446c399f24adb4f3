import LatewoodConcurrency
import LatewoodDevice
import LatewoodDocuments
import LatewoodStore
import LatewoodTerminal

/// The complete demo, on a separate database in the temporary directory.
final class DemoRun {
  private let directory: String
  let path: String
  private let console: Console
  private(set) var steps: [DemoStep] = []
  var isKept: Bool { steps.allSatisfy(\.isKept) }

  init(on console: Console) throws {
    self.console = console
    directory = try Directories.makeTemporary("latewood-demo")
    path = "\(directory)/demo.latewood"
  }

  func run() throws {
    var store = try DocumentStore.open(at: path, mode: .createNew, options: options)
    try useDocuments(store)
    try store.close()
    let acknowledged = try killWriter()
    store = try reopen()
    try checkAcknowledged(acknowledged, in: store)
    try checkSoundness(of: store)
    try store.close()
  }

  private var options: DocumentOptions {
    var options = DocumentOptions()
    options.store.compaction = .manual
    // The demo purges explicitly, to show the effect.
    options.expiresByItself = false
    return options
  }

  /// Removes the directory.
  func cleanUp() throws {
    try Directories.removeTree(directory)
  }

  // MARK: The kill

  /// Lets a child process write, kills it, and returns the last transaction that it reported as
  /// durable.
  private func killWriter() throws -> Int {
    var acknowledgements = Acknowledgements()
    try step("kill") {
      let child = try ChildProcess(
        try CurrentProcess.executablePath(), arguments: [CommandDescription.demoWriter.name, path])
      let start = MonotonicClock.nanoseconds
      while try acknowledgements.read(from: child) {
        // Half a second, or a thousand batches, so that the kill hits ongoing writes on fast and on
        // slow disks.
        let elapsed = MonotonicClock.nanoseconds &- start
        if acknowledgements.last >= 1000 || (elapsed > 500_000_000 && acknowledgements.last > 0) { break }
      }
      try child.kill()
      let wasRunning = try child.wait() == nil
      // The child's last output is still in the pipe.
      while try acknowledgements.read(from: child) {}
      return (
        wasRunning && acknowledgements.last > 0 && acknowledgements.isInOrder,
        "Killed a process (kill -9) while it was writing; it had \(Quantity.count(acknowledgements.last)) "
          + "batches acknowledged as durable."
      )
    }
    return acknowledgements.last
  }

  private func reopen() throws -> DocumentStore {
    var opened: DocumentStore?
    try step("recovery") {
      let store = try DocumentStore.open(at: path, mode: .openExisting, options: options)
      opened = store
      let report = store.store.recovery
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

  private func checkAcknowledged(_ acknowledged: Int, in store: DocumentStore) throws {
    try step("acknowledged") {
      guard let collection = try store.collection(DemoWriter.collectionName) else {
        return (false, "All data of the killed process is missing.")
      }
      let reads = try store.reads(collection)
      var missing = 0
      for number in stride(from: 1, through: acknowledged, by: 1) {
        for half in DemoWriter.halves {
          let found = try reads.document(DemoWriter.id(half, number))?.body
          if found != (try DemoWriter.body(half, number)) { missing += 1 }
        }
      }
      let found = try DemoWriter.halves.map { half in
        var query = AllDocumentsQuery()
        query.range = .prefix(half)
        return try reads.count(query)
      }
      // The kill can happen between the commit and its acknowledgement, so there may be one more
      // batch.
      let isWhole = found[0] == found[1] && (acknowledged...acknowledged + 1).contains(found[0])
      return (
        missing == 0 && isWhole,
        "Checked all \(Quantity.count(acknowledged)) acknowledged batches: "
          + (missing == 0 ? "every document is there" : "\(Quantity.count(missing)) documents are missing")
          + (isWhole ? ", none by halves." : ", but others are there by halves.")
      )
    }
  }

  private func checkSoundness(of store: DocumentStore) throws {
    try step("verify") {
      try store.store.checkpoint()
      let report = try store.verify()
      return (
        report.isSound,
        "Verified the file, every byte and every index: \(Quantity.count(report.documents, "document", "documents")), "
          + "\(Quantity.count(report.blobs, "blob", "blobs")), \(Quantity.count(report.faults.count, "fault", "faults"))."
      )
    }
    try step("space") {
      let statistics = try store.store.statistics()
      return (
        statistics.liveBytes <= statistics.fileSize,
        "The file has \(Quantity.bytes(statistics.fileSize)): \(Quantity.bytes(statistics.liveBytes)) live, "
          + "\(Quantity.bytes(statistics.deadBytes)) dead (earlier states, log that has been merged)."
      )
    }
  }

  func step(_ name: String, _ body: () throws -> (isKept: Bool, text: String)) throws {
    let start = MonotonicClock.nanoseconds
    let (isKept, text) = try body()
    let nanoseconds = MonotonicClock.nanoseconds &- start
    let step = DemoStep(name: name, isKept: isKept, text: text, nanoseconds: nanoseconds)
    steps.append(step)
    if !console.printsJSON { try step.print(on: console) }
  }
}
