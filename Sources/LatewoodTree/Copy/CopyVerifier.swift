import LatewoodBytes
import LatewoodFile

/// Verifies a tree that was written from left to right, reading from the disk. It makes the same
/// checks as `BaseVerify`, but from the leaves up instead of from the root down, so that each
/// region can be read right after it has been written.
///
/// ```
/// region        leaf leaf leaf leaf branch leaf ...    children before their parents, and nodes of
///                                                      a level in key order
/// waiting[0]    leaf leaf leaf                         verified nodes that no parent has named yet
/// waiting[1]    branch
/// root          the last one that waits
/// ```
///
/// `RegionVerifier` has verified each node individually, which takes most of the time and can be
/// done for several regions in parallel.
///
/// Invariants:
/// 1. Waiting nodes and everything under them, including extents, were read from the disk and
///    verified: checksum, structure, and order of keys.
/// 2. A branch takes its children from the front of the level below. It must match them exactly
///    (offset, length, checksum, entries, live bytes), and its separators must divide the keys
///    under them.
///
/// So if `finish` finds that the waiting root is the root of the checkpoint, every byte reachable
/// from it is verified.
///
/// Memory: the first and last key of each waiting node, of which there are few. One thread at a
/// time.
package struct CopyVerifier: ~Copyable {
  /// A node that was verified with everything under it.
  private struct Verified {
    let subtree: Subtree
    let first: [UInt8]
    let last: [UInt8]
  }

  private var waiting: [[Verified]] = []
  private var places = PlacesInOrder()

  package init() {}

  /// Adds the next region, in the order of writing. Throws `damaged`.
  package mutating func take(_ region: VerifiedRegion) throws(StorageError) {
    try places.take(region: region.range)
    for extent in region.extents { try places.take(extent: extent) }
    for node in region.nodes {
      let verified = node.level == 0 ? leaf(node) : try branch(node)
      let level = Int(node.level)
      while waiting.count <= level { waiting.append([]) }
      waiting[level].append(verified)
    }
  }

  /// Throws `damaged` unless the verified tree has this root.
  package func finish(_ root: Subtree?) throws(StorageError) {
    let verified = waiting.last?.last?.subtree
    guard verified == root else {
      throw StorageError.damaged(
        at: root?.reference.offset ?? 0, "the root does not match the nodes that were read")
    }
  }

  private func leaf(_ node: VerifiedRegion.VerifiedNode) -> Verified {
    Verified(
      subtree: Subtree(
        reference: node.reference, level: 0, entries: node.entries, liveBytes: node.liveBytes),
      first: node.first, last: node.last)
  }

  private mutating func branch(_ verified: VerifiedRegion.VerifiedNode) throws(StorageError) -> Verified {
    let below = Int(verified.level) - 1
    return try verified.bytes.withStart { (start, _) throws(StorageError) in
      // SAFETY: the bytes were validated as a node when they were read, and are not changed after.
      let node = Node(validated: start)
      guard below < waiting.count, node.count <= waiting[below].count else {
        throw StorageError.damaged(
          at: verified.reference.offset, "a branch refers to children that were not written before it")
      }
      defer { waiting[below].removeFirst(node.count) }
      return try branch(node, verified.reference, over: waiting[below][..<node.count])
    }
  }

  private func branch(
    _ node: Node, _ reference: NodeReference, over children: ArraySlice<Verified>
  ) throws(StorageError) -> Verified {
    var entries: UInt64 = 0
    var liveBytes = UInt64(reference.length)
    for (index, child) in zip(0..., children) {
      guard node.childSubtree(index) == child.subtree else {
        throw StorageError.damaged(
          at: reference.offset, "a branch contradicts its child: \(child.subtree.reference)")
      }
      entries &+= child.subtree.entries
      liveBytes &+= child.subtree.liveBytes
      guard index == 0 || divides(node.separator(index), children[children.startIndex + index - 1], child)
      else {
        throw StorageError.damaged(at: reference.offset, "a separator does not divide the keys around it")
      }
    }
    return Verified(
      subtree: Subtree(reference: reference, level: node.level, entries: entries, liveBytes: liveBytes),
      first: children.first?.first ?? [], last: children.last?.last ?? [])
  }

  /// Returns whether a separator is greater than all keys in the left subtree and not greater than
  /// any key in the right one.
  private func divides(_ separator: PrefixedKey, _ left: Verified, _ right: Verified) -> Bool {
    left.last.withUnsafeBytes { last in
      right.first.withUnsafeBytes { first in
        guard let last = last.baseAddress, let first = first.baseAddress else { return false }
        return separator.compare(last, left.last.count) > 0
          && separator.compare(first, right.first.count) <= 0
      }
    }
  }
}

/// Finds overlaps among regions and extents in file order.
private struct PlacesInOrder {
  /// The end of the last region; `extentEnd` is the end of the last extent.
  private var regionEnd: UInt64 = 0
  private var extentEnd = FileLayout.logStart
  /// The regions of nodes that do not lie before the last extent.
  private var regions: [Range<UInt64>] = []

  mutating func take(region: Range<UInt64>) throws(StorageError) {
    guard region.lowerBound >= regionEnd else {
      throw StorageError.damaged(at: region.lowerBound, "a region of nodes overlaps an earlier one")
    }
    regionEnd = region.upperBound
    // Two adjacent regions are separated by one frame header; if extents lie between them, by at
    // least two.
    if let last = regions.last, region.lowerBound - last.upperBound <= UInt64(2 * FrameHeader.length) {
      regions[regions.count - 1] = last.lowerBound..<region.upperBound
    } else {
      regions.append(region)
    }
  }

  mutating func take(extent: Range<UInt64>) throws(StorageError) {
    regions.removeFirst(regions.firstIndex { $0.upperBound > extent.lowerBound } ?? regions.count)
    guard extent.lowerBound >= extentEnd, (regions.first?.lowerBound ?? .max) >= extent.upperBound else {
      throw StorageError.damaged(at: extent.lowerBound, "two nodes or values overlap")
    }
    extentEnd = extent.upperBound
  }
}
