import LatewoodDevice
import LatewoodDocuments
import LatewoodStore

/// The kind of database that a child has open, and that the parent checks afterwards.
enum Subject: String, CaseIterable {
  case entries
  case documents

  static let fileName = "db.latewood"

  static func options() -> Store.Options {
    var options = Store.Options()
    options.compaction = .manual
    options.writeBufferBudget = 128 << 10
    return options
  }

  private static func documentOptions() -> DocumentOptions {
    var options = DocumentOptions()
    options.store = Self.options()
    return options
  }

  static func openDocuments(
    _ path: String, _ mode: Store.OpenMode = .openExisting
  ) throws -> DocumentStore {
    try DocumentStore.open(at: path, mode: mode, options: documentOptions())
  }

  /// Creates the database that the first child finds.
  func prepare(_ path: String) throws {
    switch self {
    case .entries:
      let store = try Store.open(at: path, mode: .createNew, options: Self.options())
      try store.write { transaction in
        let still = try transaction.keyspace(StillEntries.keyspace)
        for number in 0..<StillEntries.count {
          try transaction.put(StillEntries.key(number), StillEntries.value(number), in: still)
        }
      }
      try store.close()
    case .documents: try Self.openDocuments(path, .createNew).close()
    }
  }
}

/// Entries that never change, so that compactions have something to copy.
enum StillEntries {
  static let keyspace = "still"
  static let count = 20_000

  static func key(_ number: Int) -> String { "still \(number)" }
  static func value(_ number: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 20 + number % 200)
  }
}

/// The parent's knowledge of a database, from acknowledgements and earlier checks.
struct KnownState {
  enum Lanes {
    case entries([EntryLane])
    case documents(DocumentLane)
  }

  private(set) var lanes: Lanes

  init(of subject: Subject) {
    switch subject {
    case .entries: lanes = .entries([EntryLane(0), EntryLane(1)])
    case .documents: lanes = .documents(DocumentLane())
    }
  }

  /// The newest transaction of each lane.
  var last: [Int] {
    switch lanes {
    case .entries(let lanes): lanes.map(\.last)
    case .documents(let lane): [lane.last]
    }
  }

  /// Compares a database with its possible states, and adopts its actual state.
  ///
  /// - Parameters:
  ///   - allowed: for each lane, the transactions that may be the newest.
  ///   - isReadOnly: whether to leave the database unchanged for the next child.
  mutating func check(_ path: String, allowed: [ClosedRange<Int>], isReadOnly: Bool) throws -> Bool {
    switch lanes {
    case .entries(var lanes):
      let store = try Store.open(
        at: path, mode: isReadOnly ? .readOnly : .openExisting, options: Subject.options())
      for index in lanes.indices {
        let found = try lanes[index].newest(in: store)
        guard allowed[index].contains(found) else { throw Self.lost(found, allowed[index]) }
        lanes[index].advance(to: found)
        if let difference = try lanes[index].difference(to: store) { throw Failure(difference) }
      }
      self.lanes = .entries(lanes)
      let still = try store.count(in: store.keyspace(StillEntries.keyspace))
      guard still == StillEntries.count else { throw Failure("\(still) still entries") }
      let report = try store.verify()
      guard report.isSound else { throw Failure("\(report.faults)") }
      defer { withExtendedLifetime(store) {} }
      try store.close()
      return store.recovery.tornTail != nil
    case .documents(var lane):
      let store = try Subject.openDocuments(path, isReadOnly ? .readOnly : .openExisting)
      let found = try DocumentLane.newest(in: store.reads(DocumentLane.collection(of: store)))
      guard allowed[0].contains(found) else { throw Self.lost(found, allowed[0]) }
      try lane.advance(to: found)
      if let difference = try lane.difference(to: store) { throw Failure(difference) }
      lanes = .documents(lane)
      let report = try store.verify(deep: true)
      guard report.isSound else { throw Failure("\(report.faults) \(report.store?.faults ?? [])") }
      let isTorn = store.store.recovery.tornTail != nil
      try store.close()
      return isTorn
    }
  }

  private static func lost(_ found: Int, _ allowed: ClosedRange<Int>) -> Failure {
    Failure(
      "transaction \(found) where \(allowed.lowerBound) was acknowledged and \(allowed.upperBound) begun")
  }
}
