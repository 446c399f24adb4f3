import LatewoodConcurrency
import LatewoodStore

/// The numbers of revisions and bodies that a pruning removes.
package struct PruneCount: Sendable, Equatable {
  /// The number of documents that lose revisions.
  package var documents = 0
  /// The number of revisions that revision trees lose.
  package var revisions = 0
  /// The number of bodies that do not belong to a kept revision, and their bytes.
  package var bodies: UInt64 = 0
  package var bodyBytes: UInt64 = 0

  package init() {}
}

/// The numbers of documents examined so far and in total, both including deleted ones.
package struct PruneProgress: Sendable, Equatable {
  package var documents = 0
  package var total = 0
}

extension DocumentStore {
  /// Removes the revisions that are a number of generations or more behind every leaf, and the
  /// bodies that do not belong to a kept revision. Bodies of leaves always stay. A document is not
  /// pruned if a merge with another database may need the body of an ancestor: see
  /// `ancestorBodies`.
  ///
  /// The work is done in transactions of bounded size. If it is interrupted, completed transactions
  /// are not undone. The space is freed by the next compaction, which removes all old bodies
  /// anyway. O(documents · log n + old bodies).
  ///
  /// - Parameters:
  ///   - depth: the number of generations to keep, at least 1; nil for the depth of the database.
  ///   - progress: called before each transaction. If it throws, the rest is left unchanged.
  /// - Throws: any error of `progress`; ``DatabaseError``.
  package func prune(
    keeping depth: Int? = nil, progress: (PruneProgress) throws -> Void = { _ in }
  ) throws -> PruneCount {
    let core = try openedForWriting()
    try core.refuseInBatch("old revisions are pruned")
    let depth = max(1, depth ?? self.depth)
    // No lock is held across batches: a compaction may sweep in between and need not wait.
    let names = try core.collectionNames(in: core.store)
    var run = PruneRun(core, keeping: depth, try core.store.documentCount(of: names))
    for name in names {
      guard let collection = try core.collection(name) else { continue }
      do { try run.prune(collection, progress) } catch let error as DatabaseError {
        // The collection was dropped in the meantime, along with everything to prune.
        if error.code != .notFound { throw error }
      }
    }
    return run.count
  }
}

extension DocumentSnapshot {
  /// Returns the numbers that ``DocumentStore/prune(keeping:progress:)`` would remove now.
  /// O(documents + old bodies · log n).
  ///
  /// - Parameters:
  ///   - depth: the number of generations to keep, at least 1.
  ///   - progress: called periodically.
  /// - Throws: any error of `progress`; ``DatabaseError``.
  package func prunable(
    keeping depth: Int, progress: (PruneProgress) throws -> Void = { _ in }
  ) throws -> PruneCount {
    let depth = max(1, depth)
    let names = try core.collectionNames(in: snapshot)
    var count = PruneCount()
    var state = PruneProgress(total: try snapshot.documentCount(of: names))
    for name in names {
      let spaces = try CollectionSpaces(name, in: snapshot)
      var old = try OldBodies(in: spaces.superseded, snapshot)
      let needed = try snapshot.ancestorBodies(spaces) ?? []
      try snapshot.forEach(in: spaces.documents) { _, value in
        var tree = try value.reading { (bytes) throws(DatabaseError) in try DocumentRecord(bytes) }.tree
        let before = tree.nodes.count
        if !tree.hasBody(among: needed), tree.prune(to: depth) {
          count.note(removed: before - tree.nodes.count)
        }
        old.keepBodies(of: tree)
        state.documents += 1
        if state.documents % DocumentCore.sweepSize == 0 { try progress(state) }
        return true
      }
      for place in old.unneeded {
        let length = try snapshot.withValue(SequenceEntry.key(place), in: spaces.bodies) { $0.byteCount }
        guard let length else { continue }
        count.bodies += 1
        count.bodyBytes &+= UInt64(length)
      }
    }
    return count
  }
}

/// One pruning.
private struct PruneRun {
  private let core: DocumentCore
  private let depth: Int
  private(set) var count = PruneCount()
  private var state = PruneProgress()

  init(_ core: DocumentCore, keeping depth: Int, _ total: Int) {
    self.core = core
    self.depth = depth
    state.total = total
  }

  mutating func prune(
    _ collection: CollectionHandle, _ progress: (PruneProgress) throws -> Void
  ) throws {
    // Listed first: bodies that are superseded later are left to the next pruning, and no revision
    // ever gets one of these bodies.
    let held = try core.store.held()
    let spaces = try collection.spaces
    var old = try OldBodies(in: spaces.superseded, held)
    let needed = try held.ancestorBodies(spaces) ?? []
    var range = KeyRange.all
    while true {
      try progress(state)
      let pruned = try core.batch(.relaxed) { [depth] batch in
        let part = try batch.part(for: collection)
        let keys = try batch.keys(in: part.spaces.documents, range, DocumentCore.sweepSize)
        var trees: [(tree: RevisionTree, removed: Int)] = []
        for key in keys {
          if let pruned = try batch.prune(key, part, to: depth, keeping: needed) { trees.append(pruned) }
        }
        return (trees: trees, last: keys.count < DocumentCore.sweepSize ? nil : keys.last)
      }
      for (tree, removed) in pruned.trees {
        old.keepBodies(of: tree)
        if removed > 0 { count.note(removed: removed) }
      }
      state.documents += pruned.trees.count
      guard let last = pruned.last else { break }
      range = KeyRange(lower: .excluded(last))
    }
    try remove(old.unneeded, of: collection, progress)
  }

  private mutating func remove(
    _ places: [UInt64], of collection: CollectionHandle, _ progress: (PruneProgress) throws -> Void
  ) throws {
    for start in stride(from: 0, to: places.count, by: DocumentCore.sweepSize) {
      try progress(state)
      let step = places[start..<min(start + DocumentCore.sweepSize, places.count)]
      let (bodies, bytes) = try core.batch(.relaxed) { batch in
        let part = try batch.part(for: collection)
        let before = part.state
        for place in step { try Bodies(batch, part).remove(place) }
        return (before.bodies &- part.state.bodies, before.bodyBytes &- part.state.bodyBytes)
      }
      count.bodies += bodies
      count.bodyBytes &+= bytes
    }
  }
}

/// The bodies of a collection that do not belong to a leaf, and whether each still belongs to a
/// revision.
struct OldBodies {
  /// Ascending.
  private(set) var places: [UInt64] = []
  private var isKept: [Bool]

  init(in superseded: Keyspace, _ source: some Readable) throws {
    var places: [UInt64] = []
    try source.forEach(in: superseded) { key, _ in
      places.append(
        try key.withUnsafeBytes { bytes in
          Result { () throws(DatabaseError) in try SequenceEntry.sequence(ofKey: bytes) }
        }.get())
      return true
    }
    self.places = places
    isKept = Array(repeating: false, count: places.count)
  }

  mutating func keepBodies(of tree: RevisionTree) {
    for node in tree.nodes where node.body != 0 && !node.isLeaf {
      var (low, high) = (0, places.count)
      while low < high {
        let middle = (low + high) / 2
        if places[middle] < node.body { low = middle + 1 } else { high = middle }
      }
      if low < places.count, places[low] == node.body { isKept[low] = true }
    }
  }

  var unneeded: [UInt64] { zip(places, isKept).compactMap { $1 ? nil : $0 } }
}

extension PruneCount {
  /// Counts a document that loses revisions.
  fileprivate mutating func note(removed: Int) {
    documents += 1
    revisions += removed
  }
}

extension Readable {
  /// The number of documents in collections, including deleted ones.
  fileprivate func documentCount(of collections: [String]) throws -> Int {
    var count = 0
    for name in collections {
      guard let keyspace = try existingKeyspace("documents/\(name)") else { continue }
      count += try self.count(in: keyspace)
    }
    return count
  }
}
