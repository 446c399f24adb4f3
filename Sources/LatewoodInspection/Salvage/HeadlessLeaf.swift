import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// The last cells of a leaf whose header, slots or prefix were destroyed, as far as cells follow
/// each other up to the end.
///
/// Such a cell lacks the prefix of its key. The prefix is a prefix of the separator before the
/// leaf, with which the first key begins, or a prefix of the separator after it, because the last
/// key usually begins with all but the last byte of that separator. The length of the prefix is
/// determined
/// - by the leaf's header, if that is intact;
/// - by these two separators, if they differ before either ends: the first and the last key differ
///   there, too;
/// - otherwise by the lengths of the keys in neighbouring leaves, if only one prefix results in
///   keys of such lengths.
///
/// If none of these determines it, nothing is saved: a wrong key is worse than a missing one.
struct HeadlessLeaf {
  private(set) var entries: [SalvagedEntry] = []
  /// Whether the separators or the header determine the prefix, and not just the neighbouring keys.
  private(set) var isPrefixKnown = false

  private let lost: SalvageTree.LostLeaf
  private let chain: CellChain
  private let low: [UInt8]
  private let high: [UInt8]?
  private let count: Int

  /// - Parameters:
  ///   - start: the offset from which to look for cells.
  ///   - intactUntil: the end of the intact bytes that start with the header; 0 if the header is
  ///     damaged.
  init?(
    in bytes: UnsafeRawBufferPointer, of lost: SalvageTree.LostLeaf, from start: Int, intactUntil: Int
  ) {
    guard !lost.range.low.isEmpty || lost.range.high != nil, bytes.count == Int(lost.reference.length),
      bytes.count > NodeLayout.arrays, let base = bytes.baseAddress, let count = Int(exactly: lost.entries)
    else { return nil }
    self.lost = lost
    self.count = count
    // The first leaf of a tree contains the catalog, and has no separator before it.
    low = lost.range.low.isEmpty ? [0, 0, 0, 0] : lost.range.low
    high = lost.range.high
    chain = CellChain(in: bytes, from: max(start, NodeLayout.arrays))
    let depth = chain.cells.map(\.depth).max() ?? 0
    var candidates = prefixes()
    let isHeaderIntact = intactUntil >= NodeLayout.arrays
    if isHeaderIntact {
      candidates.removeAll { $0.count != Int(base.u16(NodeLayout.prefixLength)) }
    } else if let parting {
      candidates.removeAll { $0.count != parting }
    }
    var found: [(prefix: [UInt8], entries: [SalvagedEntry])] = []
    for prefix in candidates {
      var run = chain.longest { cell, isLast in isPossible(prefix, cell, isLast) }
      // The first cells may be other bytes that look like cells. If more cells than these do not
      // fit, the prefix is wrong.
      if run.count + 2 < depth { continue }
      if isHeaderIntact { run = Self.tail(of: run, count, matchingHeadsOf: bytes, until: intactUntil) }
      if run.isEmpty || run.count > count { continue }
      found.append((prefix, run.map { chain.entry(prefix, $0) }))
    }
    if isHeaderIntact || parting != nil {
      guard let known = found.first, isHeaderIntact || !contradictLengths(known.entries) else { return }
      entries = known.entries
      isPrefixKnown = true
    } else {
      entries = Self.likely(found, upTo: prefixes().last?.count ?? 0, lost.keyLengths)
    }
  }

  // MARK: The prefix

  /// The index at which the separators differ, if that is before the end of both.
  private var parting: Int? {
    guard let high else { return nil }
    let shared = zip(low, high).prefix { $0 == $1 }.count
    return shared < low.count && shared < high.count - 1 ? shared : nil
  }

  private func prefixes() -> [[UInt8]] {
    let shared = high.map { zip(low, $0).prefix { $0 == $1 }.count } ?? 0
    var prefixes = (shared...low.count).map { Array(low.prefix($0)) }
    if let high, shared == low.count, low.count + 1 < high.count {
      prefixes += (low.count + 1..<high.count).map { Array(high.prefix($0)) }
    }
    return prefixes
  }

  /// Returns the entries for the one prefix whose keys are about as long as neighbouring keys,
  /// provided that the keys for every other prefix, or a longer one, are not.
  private static func likely(
    _ found: [(prefix: [UInt8], entries: [SalvagedEntry])], upTo limit: Int, _ lengths: KeyLengths
  ) -> [SalvagedEntry] {
    let likely = found.filter { lengths.fit($0.entries) >= 7 }
    guard let (prefix, entries) = likely.first, likely.count == 1,
      found.allSatisfy({ $0.prefix == prefix || lengths.fit($0.entries) <= 4 })
    else { return [] }
    let more = limit + 1 - prefix.count
    let isLongerPossible = (more...max(more, lengths.longest)).contains {
      lengths.fit(entries, longerBy: $0) > 4
    }
    return isLongerPossible ? [] : entries
  }

  /// Returns whether all neighbouring keys have the same length, and most of these keys do not have
  /// it.
  private func contradictLengths(_ entries: [SalvagedEntry]) -> Bool {
    guard let last = entries.last, let lengths = lost.keyLengths[LiveTree.keyspace(of: last.key)] else {
      return false
    }
    return lengths.count == 1 && lost.keyLengths.fit(entries) <= 4
  }

  // MARK: The cells

  private func isPossible(_ prefix: [UInt8], _ cell: CellChain.Cell, _ isLast: Bool) -> Bool {
    let suffix = chain.bytes[cell.suffix]
    let key = prefix + suffix
    guard key.count >= NodeLayout.minimumKeyLength, key.count <= NodeLayout.maximumKeyLength,
      lost.range.contains(key)
    else { return false }
    let keyspace = LiveTree.keyspace(of: key)
    if keyspace == 0 {
      // FORMAT.md, section 9.
      guard [UInt8(ascii: "c"), UInt8(ascii: "i"), UInt8(ascii: "n")].contains(key[4]) else { return false }
    } else if let known = lost.keyspaces, !known.contains(keyspace) {
      return false
    }
    guard isLast else { return true }
    // The prefix is as long as possible, so the first and the last key differ in the byte after it.
    if prefix.count < low.count {
      guard let first = suffix.first, first > low[prefix.count] else { return false }
    }
    guard parting != nil, let high else { return true }
    return zip(key, high).prefix { $0 == $1 }.count == high.count - 1
  }

  /// Returns the last cells of a run whose keys match the surviving heads of the leaf.
  private static func tail(
    of run: [CellChain.Cell], _ count: Int, matchingHeadsOf bytes: UnsafeRawBufferPointer, until end: Int
  ) -> [CellChain.Cell] {
    guard let base = bytes.baseAddress, run.count <= count else { return [] }
    // SAFETY: a head is read only if it ends before `end`, and of a cell only the parts that lie
    // within the bytes.
    let wrong = run.indices.last { index in
      let head = NodeLayout.arrays + (count - run.count + index) * NodeLayout.headLength
      let suffix = run[index].suffix
      return head + NodeLayout.headLength <= end
        && base.u32(head) != KeyOrder.head(base + suffix.lowerBound, suffix.count)
    }
    return Array(run[(wrong.map { $0 + 1 } ?? 0)...])
  }
}
