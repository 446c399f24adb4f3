import LatewoodBytes
import LatewoodDevice
import LatewoodFile

/// Verifies, from the disk, a tree that was written from left to right. It checks the same as
/// `BaseVerify`, but from the leaves up instead of from the root down, so that each region can be
/// read as soon as it is written.
///
/// ```
/// region        leaf leaf leaf leaf branch leaf ...    children before their parents, and nodes of
///                                                      a level in key order
/// waiting[0]    leaf leaf leaf                         verified nodes that no parent has named yet
/// waiting[1]    branch
/// root          the last one that waits
/// ```
///
/// `RegionVerifier` has verified each node by itself, which takes most of the time and can be done
/// for several regions in parallel.
///
/// Invariants:
/// 1. Waiting nodes and everything under them, including extents, were read from the disk and
///    verified: checksum, structure, and order of keys.
/// 2. A branch takes its children from the front of the level below. It must match them exactly
///    (offset, length, checksum, entries, live bytes), and its separators must divide the keys
///    under them.
///
/// So if `finish` finds that the waiting root is that of the checkpoint, every byte reachable from
/// it is verified.
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

  /// Whether a separator is greater than all keys in the left subtree and not greater than any in
  /// the right one.
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
  /// The end of the last region; `extentEnd` is that of the last extent.
  private var regionEnd: UInt64 = 0
  private var extentEnd = NodeLayout.firstFrame
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

/// The nodes of one region, read from the disk and individually verified, from which `CopyVerifier`
/// verifies the tree.
package struct VerifiedRegion: Sendable {
  /// A node with verified checksum, structure, order of keys, and extents.
  struct VerifiedNode: Sendable {
    /// The reference to the node. In a branch, `entries` and `liveBytes` exclude everything under
    /// its children.
    var reference: NodeReference
    var level: UInt8
    var entries: UInt64
    var liveBytes: UInt64
    /// In a leaf, its first key; `last` is its last key.
    var first: [UInt8] = []
    var last: [UInt8] = []
    /// In a branch, the bytes of the node.
    var bytes: [UInt8] = []
  }

  /// An empty region.
  package static let nothing = VerifiedRegion(range: 0..<0)

  let range: Range<UInt64>
  fileprivate(set) var nodes: [VerifiedNode] = []
  /// The ranges of its leaves' extents, in key order, with adjacent ones joined.
  fileprivate(set) var extents: [Range<UInt64>] = []
}

/// Reads regions of nodes from the disk, with the extents of their leaves, and verifies each node
/// and extent by itself.
///
/// Memory: two windows of a mebibyte. One thread at a time; several threads can each use one.
package final class RegionVerifier {
  private let seed: UInt64
  private let nodes: DiskWindow
  private let extents: DiskWindow

  /// - Parameters:
  ///   - seed: the file seed.
  ///   - read: reads from the disk. Address, length and offset are multiples of `directAlignment`.
  package init(
    seed: UInt64,
    read: @escaping (_ target: UnsafeMutableRawBufferPointer, _ offset: UInt64) throws(StorageError) -> Int
  ) {
    self.seed = seed
    nodes = DiskWindow(read: read)
    extents = DiskWindow(read: read)
  }

  /// - Parameters:
  ///   - range: the range of a region of nodes.
  ///   - limit: bytes below this offset will not be written again. A multiple of `directAlignment`,
  ///     or past the end of the file.
  ///
  /// Throws `damaged`, and errors of the device.
  package func read(_ range: Range<UInt64>, below limit: UInt64) throws(StorageError) -> VerifiedRegion {
    var region = VerifiedRegion(range: range)
    let alignment = UInt64(NodeLayout.alignment)
    var offset = range.lowerBound
    while offset < range.upperBound {
      let node = try readNode(at: offset, below: limit, into: &region)
      offset = (offset + UInt64(node.reference.length) + alignment - 1) & ~(alignment - 1)
      region.nodes.append(node)
    }
    return region
  }

  private func readNode(
    at offset: UInt64, below limit: UInt64, into region: inout VerifiedRegion
  ) throws(StorageError) -> VerifiedRegion.VerifiedNode {
    // Unrelated extents follow the region.
    let block = UInt64(directAlignment)
    let end = min(limit, (region.range.upperBound + (block - 1)) & ~(block - 1))
    let header = try nodes.bytes(at: offset, NodeLayout.arrays, below: end)
    let length = header.u32(NodeLayout.length)
    guard length <= NodeLayout.maximumLength, UInt64(length) <= region.range.upperBound - offset else {
      throw StorageError.damaged(at: offset, "a node does not lie within its region")
    }
    let base = try nodes.bytes(at: offset, Int(length), below: end)
    let checksum = UInt32(truncatingIfNeeded: base.u64(NodeLayout.checksum))
    let reference = NodeReference(offset: offset, length: length, checksum: checksum)
    try NodeValidation(
      base: base, seed: seed, reference: reference, minimumKeyLength: NodeLayout.minimumKeyLength
    ).run()
    let node = Node(validated: base)
    try checkPrefix(of: node, offset)
    var verified = VerifiedRegion.VerifiedNode(
      reference: reference, level: node.level, entries: UInt64(node.count), liveBytes: UInt64(length))
    if node.isLeaf {
      for index in 0..<node.count {
        let value = node.entry(index).value
        guard value.isExtent else { continue }
        try readExtent(value, below: limit, into: &region)
        verified.liveBytes &+= UInt64(value.length)
      }
      verified.first = node.key(0).bytes
      verified.last = node.key(node.count - 1).bytes
    } else {
      verified.bytes = Array(UnsafeRawBufferPointer(start: base, count: Int(length)))
    }
    return verified
  }

  private func checkPrefix(of node: Node, _ offset: UInt64) throws(StorageError) {
    let first = node.isLeaf ? 0 : 1
    guard first < node.count else { return }
    let lowest = node.isLeaf ? node.key(first) : node.separator(first)
    let highest = node.isLeaf ? node.key(node.count - 1) : node.separator(node.count - 1)
    guard lowest.commonPrefix(highest) == node.prefixCount else {
      throw StorageError.damaged(
        at: offset, "the prefix of a node is not the longest common prefix of its keys")
    }
  }

  // MARK: Extents

  private func readExtent(
    _ value: BaseValue, below limit: UInt64, into region: inout VerifiedRegion
  ) throws(StorageError) {
    let offset = value.extentOffset
    let (next, overflow) = offset.addingReportingOverflow(UInt64(value.length))
    guard !overflow, offset >= NodeLayout.firstFrame, next <= limit else {
      throw StorageError.damaged(at: offset, "a value's extent does not lie within the file")
    }
    guard try UInt32(truncatingIfNeeded: hash(offset, value.length, below: limit)) == value.extentChecksum
    else { throw StorageError.damaged(at: offset, "a value does not match its checksum") }
    // An empty extent takes no space.
    if value.length == 0 { return }
    if let last = region.extents.last, last.upperBound == offset {
      region.extents[region.extents.count - 1] = last.lowerBound..<next
    } else {
      region.extents.append(offset..<next)
    }
  }

  private func hash(_ offset: UInt64, _ length: Int, below limit: UInt64) throws(StorageError) -> UInt64 {
    let piece = DiskWindow.capacity / 2
    if length > 0, length <= piece {
      return XXH64.hash(try extents.bytes(at: offset, length, below: limit), length, seed: seed)
    }
    var stream = XXH64.Stream(seed: seed)
    var done = 0
    while done < length {
      let count = min(piece, length - done)
      let bytes = try extents.bytes(at: offset + UInt64(done), count, below: limit)
      stream.update(UnsafeRawBufferPointer(start: bytes, count: count))
      done += count
    }
    return stream.finish()
  }
}
