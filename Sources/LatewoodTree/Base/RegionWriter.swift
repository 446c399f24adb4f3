import LatewoodBytes
import LatewoodFile

/// Collects nodes in memory and writes them in regions, each reserved in the file with its exact
/// length.
///
/// ```
/// allocate, allocate ...   nodes at multiples of 64 in `memory`, children by provisional offset
/// place                  reserve(length) -> offset; then for each node, in order:
///                        own offset, references to children, checksum; then write
/// ```
///
/// Children precede their parents, so the checksums of a node's children are known when the node is
/// placed. Until then a node has only a provisional offset (`UnplacedOffset`). Whenever a region is
/// placed, `placements` grows, and `reference` returns the references of that region's nodes until
/// the next region is placed.
final class RegionWriter {
  /// The number of bytes in one call of `write` to a file with concurrent commits. Larger writes
  /// would hold the file system's lock and stall commits.
  static let pieceLength = 128 << 10

  typealias Reserve = (_ length: Int) throws(StorageError) -> UInt64
  typealias Write = (_ bytes: UnsafeRawBufferPointer, _ offset: UInt64) throws(StorageError) -> Void

  private let codec: UnitCodec
  private let capacity: Int
  private let pieceLength: Int
  private let memory: UnsafeMutableRawPointer
  private let reserve: Reserve
  private let write: Write
  private let didPlace: ((_ region: Range<UInt64>) throws(StorageError) -> Void)?
  /// The number of bytes of `memory` in use.
  private var used = 0
  private var starts: [Int] = []
  private var references: [NodeReference] = []
  private(set) var placements = 0
  /// The total length of the regions written so far.
  private(set) var bytesWritten: UInt64 = 0

  /// - Parameters:
  ///   - codec: seals the nodes.
  ///   - capacity: the capacity of a region, in bytes.
  ///   - reserve: reserves space in the file and returns its offset, a multiple of 64.
  ///   - write: writes a piece of a region to the file.
  ///   - didPlace: called after a region has been written.
  init(
    codec: UnitCodec, capacity: Int = 1 << 20, pieceLength: Int = RegionWriter.pieceLength,
    reserve: @escaping Reserve, write: @escaping Write,
    didPlace: ((_ region: Range<UInt64>) throws(StorageError) -> Void)? = nil
  ) {
    self.codec = codec
    self.capacity = max(capacity, NodeLayout.maximumLength + 1)
    // SAFETY: freed in deinit. No pointer into it is used after the next call of `allocate`.
    memory = .allocate(byteCount: self.capacity, alignment: NodeLayout.alignment)
    self.reserve = reserve
    self.write = write
    self.pieceLength = pieceLength
    self.didPlace = didPlace
  }

  deinit { memory.deallocate() }

  /// The number of bytes after the text of each node and extent.
  var trailerLength: Int { codec.trailerLength }

  /// Returns memory for the next node, with a zeroed header, and the provisional offset by which
  /// its parent refers to it. This may place earlier nodes.
  func allocate(length: Int) throws(StorageError) -> (target: UnsafeMutableRawPointer, provisional: UInt64) {
    precondition(length <= NodeLayout.maximumLength)
    var start = RegionWriter.aligned(used)
    if start + length > capacity {
      try place()
      start = 0
    }
    // The gap before the node, and its header, are zeroed; the rest of the node is written.
    let zeros = start - used + min(NodeLayout.arrays, length)
    (memory + used).initializeMemory(as: UInt8.self, repeating: 0, count: zeros)
    used = start + length
    starts.append(start)
    return (memory + start, UnplacedOffset.mark | UInt64(starts.count - 1))
  }

  /// The reference to a node of the region that was placed last.
  func reference(of provisional: UInt64) -> NodeReference {
    references[Int(provisional & ~UnplacedOffset.mark)]
  }

  /// Places the nodes received so far. More may follow.
  func finish() throws(StorageError) {
    if used > 0 { try place() }
  }

  private static func aligned(_ length: Int) -> Int {
    (length + NodeLayout.alignment - 1) & ~(NodeLayout.alignment - 1)
  }

  private func place() throws(StorageError) {
    let offset = try reserve(used)
    precondition(offset % UInt64(NodeLayout.alignment) == 0)
    references.removeAll(keepingCapacity: true)
    for start in starts { references.append(finalize(memory + start, at: offset + UInt64(start))) }
    var at = 0
    while at < used {
      let length = min(pieceLength, used - at)
      try write(UnsafeRawBufferPointer(start: memory + at, count: length), offset + UInt64(at))
      at += length
    }
    bytesWritten += UInt64(used)
    try didPlace?(offset..<offset + UInt64(used))
    starts.removeAll(keepingCapacity: true)
    used = 0
    placements += 1
  }

  /// Fills in the fields that were unknown when the node was encoded.
  private func finalize(_ node: UnsafeMutableRawPointer, at offset: UInt64) -> NodeReference {
    let bytes = UnsafeRawPointer(node)
    node.set(offset, at: NodeLayout.ownOffset)
    if bytes.u8(NodeLayout.kind) == NodeLayout.branchKind {
      for index in 0..<Int(bytes.u16(NodeLayout.count)) {
        let child = node + (NodeLayout.arrays + index * NodeLayout.childLength)
        let provisional = UnsafeRawPointer(child).u64(NodeLayout.childOffset)
        guard UnplacedOffset.isUnplaced(provisional) else { continue }
        let reference = reference(of: provisional)
        child.set(reference.offset, at: NodeLayout.childOffset)
        child.set(reference.checksum, at: NodeLayout.childChecksum)
      }
    }
    let length = bytes.u32(NodeLayout.length)
    let sum = codec.sealNode(at: offset, node, Int(length))
    return NodeReference(offset: offset, length: length, checksum: UInt32(truncatingIfNeeded: sum))
  }
}

/// The offsets that represent nodes not yet placed in the file. Real offsets are far smaller.
enum UnplacedOffset {
  static let mark: UInt64 = 1 << 63
  @inline(__always) static func isUnplaced(_ offset: UInt64) -> Bool { offset & mark != 0 }
}
