/// A slab allocator for the nodes of one write buffer: nodes are cut from large chunks and reused
/// through a free list for each size. All memory is freed together.
///
/// Only the writer allocates and frees. Readers follow pointers into it, and keep its owner, the
/// layer, alive.
struct BufferSlab: ~Copyable {
  private static let chunkLength = 256 << 10
  private static let kinds = 6

  private var chunks: [UnsafeMutableRawPointer] = []
  private var cut: UnsafeMutableRawPointer?
  private var rest = 0
  private let free: UnsafeMutablePointer<UnsafeMutableRawPointer?>

  /// The number of bytes taken from the system.
  var length: Int { chunks.count * Self.chunkLength }

  init() {
    free = .allocate(capacity: Self.kinds)
    free.initialize(repeating: nil, count: Self.kinds)
  }

  deinit {
    for chunk in chunks { chunk.deallocate() }
    free.deallocate()
  }

  /// The index of a size's free list: 0 to 4 for leaves of 8 to 128 entries, 5 for branches.
  @inline(__always) private static func kind(_ capacity: Int, _ isBranch: Bool) -> Int {
    isBranch ? 5 : (capacity / BufferNode.leastLeafCapacity).trailingZeroBitCount
  }

  @inline(__always) mutating func allocate(born: UInt64, capacity: Int, isBranch: Bool) -> BufferNode {
    let kind = Self.kind(capacity, isBranch)
    let pointer: UnsafeMutableRawPointer
    if let reused = free[kind] {
      free[kind] = reused.load(as: UnsafeMutableRawPointer?.self)
      pointer = reused
    } else {
      // Chunks begin at multiples of 64, and so do all nodes.
      pointer = cutNew((BufferNode.length(capacity: capacity, isBranch: isBranch) &+ 63) & ~63)
    }
    let node = BufferNode(pointer)
    node.initialize(born: born, capacity: capacity, isBranch: isBranch)
    return node
  }

  @inline(__always) mutating func release(_ node: BufferNode) {
    let kind = Self.kind(node.capacity, node.isBranch)
    node.pointer.storeBytes(of: free[kind], as: UnsafeMutableRawPointer?.self)
    free[kind] = node.pointer
  }

  @inline(never) private mutating func cutNew(_ length: Int) -> UnsafeMutableRawPointer {
    if rest < length || cut == nil {
      let chunk = UnsafeMutableRawPointer.allocate(byteCount: Self.chunkLength, alignment: 64)
      chunks.append(chunk)
      cut = chunk
      rest = Self.chunkLength
      return cutNew(length)
    }
    let pointer = chunks[chunks.count - 1] + (Self.chunkLength - rest)
    rest -= length
    return pointer
  }
}
