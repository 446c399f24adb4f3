import LatewoodBytes
import LatewoodFile

/// Proves from the disk that a tree which was written from left to right is whole: what `BaseVerify` finds from the root down, from
/// the leaves up, so that each region can be read as soon as it is there.
///
/// ```
/// region        leaf leaf leaf leaf branch leaf ...    children come before their parents, and nodes of a level in key order
/// waiting[0]    leaf leaf leaf                         what was proved and no parent has named yet
/// waiting[1]    branch
/// root          the last one that waits
/// ```
///
/// Invariants:
/// 1. What waits was read from the disk: its checksum, its structure, the order of its keys; and all under it, extents too.
/// 2. A branch takes those that it names out of the level below, from the front. It must name them exactly: offset, length, checksum,
///    entries, live bytes; and its separators must divide what is in fact under them.
///
/// So if `finish` finds the root that the checkpoint names to be the one that waits, each byte that can be reached from it is proved.
///
/// Memory: two windows of a mebibyte, and the first and last key of each node that waits, which are few. One thread at a time.
package final class TreeProof {
  /// A node that was proved, with everything under it.
  private struct Proved {
    let subtree: Subtree
    let first: [UInt8]
    let last: [UInt8]
  }

  private let seed: UInt64
  private let nodes: DiskWindow
  private let extents: ExtentProof
  private var waiting: [[Proved]] = []
  /// Where the last region ended.
  private var end: UInt64 = 0

  /// - Parameters:
  ///   - seed: The file seed.
  ///   - read: Fills memory from an offset on, with what the disk has. Address, length and offset are multiples of `directAlignment`.
  package init(
    seed: UInt64,
    read: @escaping (_ target: UnsafeMutableRawBufferPointer, _ offset: UInt64) throws(Fault) -> Int
  ) {
    self.seed = seed
    nodes = DiskWindow(read: read)
    extents = ExtentProof(seed: seed, read: read)
  }

  /// Reads and checks the nodes of a region, and the extents that its leaves name.
  ///
  /// - Parameters:
  ///   - region: the next one, in the order in which they were written.
  ///   - limit: below it everything has been written that will be. At a multiple of `directAlignment`, or past the end of the file.
  ///
  /// Throws `damaged`, and what the device throws.
  package func take(_ region: Range<UInt64>, below limit: UInt64) throws(Fault) {
    guard region.lowerBound >= end else {
      throw Fault.damaged(at: region.lowerBound, "nodes were written over others")
    }
    end = region.upperBound
    extents.skip(region)
    let alignment = UInt64(NodeLayout.alignment)
    var offset = region.lowerBound
    while offset < region.upperBound {
      let length = try takeNode(at: offset, in: region, below: limit)
      offset = (offset + length + alignment - 1) & ~(alignment - 1)
    }
  }

  /// Throws `damaged` if it is not this tree that was read.
  package func finish(_ root: Subtree?) throws(Fault) {
    let proved = waiting.last?.last?.subtree
    guard proved == root else {
      throw Fault.damaged(at: root?.reference.offset ?? 0, "the root is not that of the nodes that were read")
    }
  }

  private func takeNode(
    at offset: UInt64, in region: Range<UInt64>, below limit: UInt64
  ) throws(Fault) -> UInt64 {
    let header = try nodes.bytes(at: offset, NodeLayout.arrays, below: limit)
    let length = header.u32(NodeLayout.length)
    guard length <= NodeLayout.maximumLength, UInt64(length) <= region.upperBound - offset else {
      throw Fault.damaged(at: offset, "a node does not lie within its region")
    }
    let base = try nodes.bytes(at: offset, Int(length), below: limit)
    let checksum = UInt32(truncatingIfNeeded: base.u64(NodeLayout.checksum))
    let reference = NodeReference(offset: offset, length: length, checksum: checksum)
    try NodeValidation(
      base: base, seed: seed, reference: reference, minimumKeyLength: NodeLayout.minimumKeyLength
    ).run()
    let node = Node(validated: base)
    try checkPrefix(of: node, offset)
    let proved = node.isLeaf ? try leaf(node, reference, limit) : try branch(node, reference)
    let level = Int(node.level)
    while waiting.count <= level { waiting.append([]) }
    waiting[level].append(proved)
    return UInt64(length)
  }

  private func checkPrefix(of node: Node, _ offset: UInt64) throws(Fault) {
    let first = node.isLeaf ? 0 : 1
    guard first < node.count else { return }
    let lowest = node.isLeaf ? node.key(first) : node.separator(first)
    let highest = node.isLeaf ? node.key(node.count - 1) : node.separator(node.count - 1)
    guard lowest.commonPrefix(highest) == node.prefixCount else {
      throw Fault.damaged(at: offset, "the prefix of a node is not the longest its keys have in common")
    }
  }

  private func leaf(_ node: Node, _ reference: NodeReference, _ limit: UInt64) throws(Fault) -> Proved {
    var liveBytes = UInt64(reference.length)
    for index in 0..<node.count {
      let value = node.entry(index).value
      guard value.isExtent else { continue }
      try extents.take(value, below: limit)
      liveBytes &+= UInt64(value.length)
    }
    return Proved(
      subtree: Subtree(
        reference: reference, level: 0, entries: UInt64(node.count), liveBytes: liveBytes),
      first: node.key(0).bytes, last: node.key(node.count - 1).bytes)
  }

  private func branch(_ node: Node, _ reference: NodeReference) throws(Fault) -> Proved {
    let below = Int(node.level) - 1
    guard below < waiting.count, node.count <= waiting[below].count else {
      throw Fault.damaged(at: reference.offset, "a branch names children that were not written before it")
    }
    let children = waiting[below][..<node.count]
    var entries: UInt64 = 0
    var liveBytes = UInt64(reference.length)
    for (index, child) in children.enumerated() {
      guard node.childSubtree(index) == child.subtree else {
        throw Fault.damaged(
          at: reference.offset, "a branch does not say of a child what was read: \(child.subtree.reference)")
      }
      entries &+= child.subtree.entries
      liveBytes &+= child.subtree.liveBytes
      guard index == 0 || divides(node.separator(index), children[index - 1], child) else {
        throw Fault.damaged(at: reference.offset, "a separator does not divide the keys around it")
      }
    }
    defer { waiting[below].removeFirst(node.count) }
    return Proved(
      subtree: Subtree(reference: reference, level: node.level, entries: entries, liveBytes: liveBytes),
      first: children.first?.first ?? [], last: children.last?.last ?? [])
  }

  /// Whether a separator is greater than all keys in one subtree and not greater than any in the next.
  private func divides(_ separator: SplitKey, _ left: Proved, _ right: Proved) -> Bool {
    left.last.withUnsafeBytes { last in
      right.first.withUnsafeBytes { first in
        guard let last = last.baseAddress, let first = first.baseAddress else { return false }
        return separator.compare(last, left.last.count) > 0
          && separator.compare(first, right.first.count) <= 0
      }
    }
  }
}
