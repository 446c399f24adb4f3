import Dispatch
import LatewoodConcurrency
import LatewoodDevice
import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import LatewoodTerminal

/// The process that is killed: it commits, checkpoints and compacts without end, and reports each
/// action on a line.
///
/// ```
/// a 0 17      transaction 17 of lane 0 is durable             c    a checkpoint begins
/// r 0 18      transaction 18 is committed, but not synced     n    a compaction is about to take the file's place
/// e CODE ...  a call failed; nothing more follows
/// ```
enum Child {
  private static let output = Guarded(StandardStreams().output)

  private static func say(_ line: String) {
    output.withLock { output in
      output.write(line + "\n")
      output.flush()
    }
  }

  /// - Parameter keepsUp: false to checkpoint and compact only when the engine does so by itself.
  static func run(_ subject: Subject, _ path: String, seed: UInt64, keepsUp: Bool) throws {
    let upkeep = keepsUp ? seed : nil
    do {
      switch subject {
      case .entries: try runEntries(path, upkeep)
      case .documents: try runDocuments(path, upkeep)
      }
    } catch { fail(error) }
  }

  /// Reads next to a child, and so keeps the bytes that the child wrote in the page cache.
  static func read(_ path: String) throws {
    let store = try Store.open(at: path, mode: .readOnly, options: Subject.options())
    say("open")
    while true {
      do { try store.refresh() } catch {
        // The file may be in an invalid state; the reader keeps the state that it has.
      }
      Monitor.sleep(milliseconds: 1)
    }
  }

  /// Reports a failure and ends; the parent knows which failures are allowed.
  private static func fail(_ error: any Error) -> Never {
    switch error {
    case let error as StoreError: say("e \(error.code.rawValue) \(error)")
    case let error as DatabaseError:
      say("e \(error.store?.code.rawValue ?? "\(error.code)") \(error)")
    default: say("e other \(error)")
    }
    CurrentProcess.exit(3)
  }

  private static func runEntries(_ path: String, _ seed: UInt64?) throws {
    let store = try Store.open(at: path, mode: .openExisting, options: Subject.options())
    for number in 0..<2 {
      var lane = EntryLane(number)
      try lane.advance(to: lane.newest(in: store))
      let (start, keyspace) = (lane, try store.keyspace(lane.name))
      DispatchQueue(label: "lane \(number)").async {
        var lane = start
        do {
          while true {
            try lane.commit(to: store, keyspace)
            say("\(EntryLane.isRelaxed(lane.last) ? "r" : "a") \(number) \(lane.last)")
          }
        } catch { fail(error) }
      }
    }
    try keepUp(seed, checkpoint: { try store.checkpoint() }, compact: { try store.compact(progress: $0) })
  }

  private static func runDocuments(_ path: String, _ seed: UInt64?) throws {
    let store = try Subject.openDocuments(path)
    let collection = try DocumentLane.collection(of: store)
    var lane = DocumentLane()
    try lane.advance(to: DocumentLane.newest(in: store.reads(collection)))
    let start = lane
    DispatchQueue(label: "documents").async {
      var lane = start
      do {
        while true {
          try lane.commit(to: store, collection)
          say("a 0 \(lane.last)")
        }
      } catch { fail(error) }
    }
    try keepUp(
      seed, checkpoint: { try store.store.checkpoint() }, compact: { try store.compact(progress: $0) })
  }

  /// Checkpoints and compacts on this thread.
  private static func keepUp(
    _ seed: UInt64?, checkpoint: () throws -> Void,
    compact: (@escaping (CompactionProgress) -> Void) throws -> CompactionReport
  ) throws {
    guard let seed else {
      while true { Monitor.sleep(milliseconds: 1000) }
    }
    var random = SeededRandom(seed: seed)
    while true {
      for _ in 0..<random.below(4) {
        Monitor.sleep(milliseconds: UInt64(random.below(8)))
        say("c")
        try checkpoint()
      }
      Monitor.sleep(milliseconds: UInt64(random.below(5)))
      var isNear = false
      _ = try compact { progress in
        // The new file has been verified, or nearly: the rename is next.
        if progress.fraction > 0.98, !isNear {
          isNear = true
          say("n")
        }
      }
    }
  }
}
