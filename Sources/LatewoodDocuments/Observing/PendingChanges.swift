/// The documents that have changed since the changes were last taken.
struct PendingChanges: Sendable {
  /// The maximum number of ids to remember. With more changes than this, reading everything again
  /// costs no more.
  static let limit = 16_384

  struct Commit: Sendable {
    var ids: [String]
    /// The last sequence that the collection had assigned after the commit.
    var lastSequence: UInt64
    /// Whether the commit purged a document, which leaves no sequence behind.
    var hasPurges: Bool
  }

  private(set) var commits: [Commit] = []
  /// Whether there are changes that `commits` does not contain.
  private(set) var isIncomplete = false
  private var count = 0

  var isEmpty: Bool { commits.isEmpty && !isIncomplete }
  var lastSequence: UInt64 { commits.last?.lastSequence ?? 0 }

  mutating func add(_ event: CollectionChange) {
    // Reading the collection again reveals whether it was dropped or closed.
    guard event.kind == .changed, event.isComplete, count + event.entries.count <= Self.limit else {
      (commits, count, isIncomplete) = ([], 0, true)
      return
    }
    if isIncomplete { return }
    count += event.entries.count
    commits.append(
      Commit(
        ids: event.entries.map(\.id), lastSequence: event.lastSequence,
        hasPurges: event.entries.contains { $0.sequence == nil }))
  }

  mutating func take() -> PendingChanges {
    defer { self = PendingChanges() }
    return self
  }

  /// Adds commits that were announced after a state of the collection was taken.
  ///
  /// - Parameter lastSequence: the last sequence in the state.
  /// - Returns: the commits to examine again with a later state: commits that are not in this
  ///   state, and commits with purges, which may or may not be in it.
  mutating func add(_ later: PendingChanges, upTo lastSequence: UInt64) -> [Commit] {
    isIncomplete = isIncomplete || later.isIncomplete
    var rest: [Commit] = []
    for commit in later.commits {
      let isPart = commit.lastSequence <= lastSequence
      if isPart { commits.append(commit) }
      if !isPart || commit.hasPurges { rest.append(commit) }
    }
    return rest
  }

  /// Inserts commits before all others.
  mutating func putBack(_ earlier: [Commit]) {
    if isIncomplete { return }
    commits = earlier + commits
    count += earlier.reduce(0) { $0 + $1.ids.count }
  }
}
