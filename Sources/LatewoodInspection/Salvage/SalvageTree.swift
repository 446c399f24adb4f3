import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// Reads the tree of a checkpoint as far as possible, and notes the nodes and values that it cannot
/// read, with the bounds of their keys.
///
/// A damaged leaf only loses its own entries. In a damaged branch, the children with readable
/// references are used: each has its own checksum, and the reference proves that it is the right
/// node.
struct SalvageTree {
  /// A leaf that is referenced but cannot be read.
  struct LostLeaf {
    var reference: NodeReference
    var entries: UInt64
    var range: KeyIntervals.Interval
    /// The lengths of the keys in the nearest readable leaves before and after it.
    var keyLengths = KeyLengths()
    /// The numbers of the existing keyspaces; nil if they are not known.
    var keyspaces: Set<UInt32>?
  }

  private let file: UnitReader
  private let bounds: KeyIntervals.Interval
  private let sink: any SalvageSink
  private(set) var lost: [SalvageReport.LostRange] = []
  private(set) var leaves: [LostLeaf] = []
  /// The key lengths of the last readable leaf, and the number of leaves lost since.
  private var lastLengths = KeyLengths()
  private var lostSince = 0
  /// The transactions of the checkpoints in the file, the newest last.
  private let transactions: [UInt64]
  /// The number of visits left, so that a file that leads to the same nodes repeatedly is not
  /// walked forever.
  private var visitsLeft: UInt64
  private var bytesRead: UInt64 = 0

  init(
    _ file: UnitReader, transactions: [UInt64], bounds: KeyIntervals.Interval, into sink: any SalvageSink
  ) {
    self.file = file
    self.transactions = transactions
    self.bounds = bounds
    self.sink = sink
    visitsLeft = file.reader.size / FileLayout.nodeAlignment
  }

  /// - Parameter range: the keys that belong in the subtree according to the separators above it.
  mutating func read(_ subtree: Subtree, in range: KeyIntervals.Interval) throws(StorageError) {
    guard let range = range.clipped(to: bounds), visitsLeft > 0 else { return }
    visitsLeft -= 1
    guard let found = try file.soundNode(subtree.reference, level: subtree.level) else {
      return try pass(subtree, range)
    }
    try take(found, subtree, range)
  }

  private mutating func take(
    _ found: NodeCopy, _ subtree: Subtree, _ range: KeyIntervals.Interval
  ) throws(StorageError) {
    bytesRead += UInt64(subtree.reference.length)
    try sink.progress(bytesRead, of: file.reader.size)
    for entry in found.entries where range.contains(entry.key) { try take(entry) }
    let node = found.node
    if node.isLeaf { return pass(beside: node) }
    for index in 0..<node.count {
      let low = index == 0 ? range.low : node.separator(index).bytes
      let high = index + 1 < node.count ? node.separator(index + 1).bytes : range.high
      if let inside = KeyIntervals.Interval(low: low, high: high).clipped(to: range) {
        try read(node.childSubtree(index), in: inside)
      }
    }
    // The view points into the memory of the node.
    withExtendedLifetime(found) {}
  }

  private mutating func take(_ entry: SalvagedEntry) throws(StorageError) {
    if let value = try entry.bytes(in: file) {
      return try sink.put(entry.key, value, .certain)
    }
    guard case .extent(let extent) = entry.value else { return }
    lost.append(
      SalvageReport.LostRange(
        what: .value, offset: extent.offset, length: extent.length, low: entry.key,
        high: entry.key.successor, expected: 1))
  }

  // MARK: Damage

  private mutating func pass(_ subtree: Subtree, _ range: KeyIntervals.Interval) throws(StorageError) {
    if subtree.level == 0 {
      let leaf = LostLeaf(
        reference: subtree.reference, entries: subtree.entries, range: range, keyLengths: lastLengths)
      if let rebuilt = try RebuiltLeaf(leaf, transactions: transactions, in: file)?.node() {
        return try take(rebuilt, subtree, range)
      }
      leaves.append(leaf)
      lostSince += 1
      note(.leaf, subtree, range, expected: subtree.entries)
      return
    }
    let branch = try DamagedBranch(subtree, in: file)
    // Examining the children counted as visits.
    visitsLeft -= min(visitsLeft, UInt64(branch.children.count))
    for child in branch.children { try read(child.subtree, in: range) }
    let known = branch.children.reduce(UInt64(0)) { $0 &+ $1.subtree.entries }
    if known == subtree.entries { return }
    let runs = branch.missing
    for run in runs {
      var gap = range
      if run.lowerBound > 0, let before = branch.child(run.lowerBound - 1),
        let key = try edge(of: before, isLast: true)
      {
        gap.low = key.successor
      }
      if let upper = run.upperBound, let after = branch.child(upper),
        let key = try edge(of: after, isLast: false)
      {
        gap.high = key
      }
      guard let gap = gap.clipped(to: range) else { continue }
      let expected = runs.count == 1 && known < subtree.entries ? subtree.entries - known : nil
      note(.branch, subtree, gap, expected: expected)
    }
  }

  /// Adds the lengths of a leaf's keys for lost leaves before it, and for lost leaves that may
  /// follow.
  private mutating func pass(beside leaf: Node) {
    for index in leaves.count - lostSince..<leaves.count { leaves[index].keyLengths.add(leaf) }
    lostSince = 0
    lastLengths = KeyLengths()
    lastLengths.add(leaf)
  }

  private mutating func note(
    _ what: SalvageReport.LostRange.What, _ subtree: Subtree, _ range: KeyIntervals.Interval,
    expected: UInt64?
  ) {
    lost.append(
      SalvageReport.LostRange(
        what: what, offset: subtree.reference.offset, length: UInt64(subtree.reference.length),
        low: range.low, high: range.high, expected: expected))
  }

  /// Returns the first or last key under a subtree; nil if the path to it is damaged.
  private func edge(of subtree: Subtree, isLast: Bool) throws(StorageError) -> [UInt8]? {
    var subtree = subtree
    while let found = try file.soundNode(subtree.reference, level: subtree.level) {
      defer { withExtendedLifetime(found) {} }
      let node = found.node
      let index = isLast ? node.count - 1 : 0
      if node.isLeaf { return node.key(index).bytes }
      subtree = node.childSubtree(index)
    }
    return nil
  }
}
