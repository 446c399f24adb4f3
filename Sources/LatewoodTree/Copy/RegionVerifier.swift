import LatewoodBytes
import LatewoodDevice
import LatewoodFile

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
    /// The first key of a leaf; `last` is its last key.
    var first: [UInt8] = []
    var last: [UInt8] = []
    /// The bytes of a branch.
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
/// Memory: two windows of 256 KiB. One thread at a time; several threads can each use one.
package final class RegionVerifier {
  /// The length of a window: short enough that a commit does not wait long for the disk while a
  /// window is read.
  private static let windowLength = 256 << 10

  private let nodes: DiskBytes
  private let extents: DiskBytes

  /// - Parameters:
  ///   - codec: opens the nodes and extents.
  ///   - read: reads from the disk. Address, length and offset are multiples of `directAlignment`.
  package init(
    codec: UnitCodec,
    read: @escaping (_ target: UnsafeMutableRawBufferPointer, _ offset: UInt64) throws(StorageError) -> Int
  ) {
    nodes = DiskBytes(codec: codec, capacity: RegionVerifier.windowLength, read: read)
    extents = DiskBytes(codec: codec, capacity: RegionVerifier.windowLength, read: read)
  }

  /// - Parameters:
  ///   - range: the range of a region of nodes.
  ///   - limit: bytes below this offset will not be written again. A multiple of `directAlignment`,
  ///     or past the end of the file.
  ///
  /// Throws `damaged`, and errors of the device.
  package func read(_ range: Range<UInt64>, below limit: UInt64) throws(StorageError) -> VerifiedRegion {
    var region = VerifiedRegion(range: range)
    // Unrelated extents follow the region.
    nodes.size = min(limit, range.upperBound)
    extents.size = limit
    let alignment = UInt64(NodeLayout.alignment)
    var offset = range.lowerBound
    while offset < range.upperBound {
      let node = try readNode(at: offset, into: &region)
      offset = (offset + UInt64(node.reference.length) + alignment - 1) & ~(alignment - 1)
      region.nodes.append(node)
    }
    return region
  }

  private func readNode(
    at offset: UInt64, into region: inout VerifiedRegion
  ) throws(StorageError) -> VerifiedRegion.VerifiedNode {
    let reference = NodeReference(to: offset, header: try nodes.bytes(at: offset, NodeLayout.arrays))
    guard reference.length <= NodeLayout.maximumLength,
      UInt64(reference.length) <= region.range.upperBound - offset
    else { throw StorageError.damaged(at: offset, "a node does not lie within its region") }
    // An encrypted node is decrypted in a copy.
    let copy = nodes.codec.isEncrypted ? try NodeCopy(reference, level: nil, in: nodes) : nil
    defer { withExtendedLifetime(copy) {} }
    // SAFETY: the window has the whole node until the next one is read.
    let node =
      if let copy { copy.node } else {
        try NodeValidation(
          base: try nodes.bytes(at: offset, Int(reference.length)), codec: nodes.codec,
          reference: reference, minimumKeyLength: NodeLayout.minimumKeyLength
        ).open()
      }
    try checkPrefix(of: node, offset)
    var verified = VerifiedRegion.VerifiedNode(
      reference: reference, level: node.level, entries: UInt64(node.count),
      liveBytes: UInt64(reference.length))
    if node.isLeaf {
      for index in 0..<node.count {
        let value = node.entry(index).value
        guard value.isExtent else { continue }
        try readExtent(value, into: &region)
        verified.liveBytes &+= UInt64(value.length + extents.codec.trailerLength)
      }
      verified.first = node.key(0).bytes
      verified.last = node.key(node.count - 1).bytes
    } else {
      verified.bytes = Array(UnsafeRawBufferPointer(start: node.base, count: Int(reference.length)))
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
    _ value: BaseValue, into region: inout VerifiedRegion
  ) throws(StorageError) {
    let reference = value.extent
    try extents.verify(reference)
    // An empty extent takes no space.
    if reference.length == 0 { return }
    let end = reference.offset + reference.length + UInt64(extents.codec.trailerLength)
    if let last = region.extents.last, last.upperBound == reference.offset {
      region.extents[region.extents.count - 1] = last.lowerBound..<end
    } else {
      region.extents.append(reference.offset..<end)
    }
  }
}
