import LatewoodBytes

/// The memory that items of a tree under construction point into, retained as long as any of them
/// does.
///
/// It consists of copies of nodes that were read, and of separators, which are copied into separate
/// pieces. The owner occasionally passes the addresses still in use, and the rest is freed, so the
/// memory stays below the size of the pending items plus half a mebibyte.
// SAFETY: a returned pointer is valid until a `release` to which it is not passed.
struct RetainedMemory: ~Copyable {
  private struct Piece {
    var start: UnsafeMutableRawPointer
    var length: Int
    /// The owner of the memory; nil if this object frees it.
    var owner: NodeCopy?
    var isUsed = false
  }

  private static let pieceLength = 64 << 10
  private static let leastLimit = 512 << 10

  private var pieces: [Piece] = []
  /// The piece that separators are copied to; `used` is the number of its bytes in use.
  private var open: UnsafeMutableRawPointer?
  private var used = 0
  private var length = 0
  private var latest: NodeCopy?
  private var limit = RetainedMemory.leastLimit

  init() {}

  deinit {
    for piece in pieces where piece.owner == nil { piece.start.deallocate() }
  }

  /// Whether enough is retained to make a call of `release` worthwhile.
  var isFull: Bool { length > limit }

  /// Retains a node's memory. The latest node is never released.
  mutating func retain(_ copy: NodeCopy) {
    latest = copy
    pieces.append(Piece(start: copy.memory, length: copy.length, owner: copy))
    length += copy.length
  }

  /// Copies a key into retained memory.
  mutating func copy(_ key: PrefixedKey) -> PrefixedKey {
    let count = key.count
    if count == 0 { return PrefixedKey(open ?? openPiece(RetainedMemory.pieceLength), 0) }
    var target = open ?? openPiece(RetainedMemory.pieceLength)
    if count > RetainedMemory.pieceLength - used {
      target = openPiece(max(RetainedMemory.pieceLength, count))
    }
    let start = target + used
    // SAFETY: the piece has at least `count` bytes after `used`.
    start.copyMemory(from: key.prefix, byteCount: key.prefixCount)
    (start + key.prefixCount).copyMemory(from: key.suffix, byteCount: key.suffixCount)
    used += count
    return PrefixedKey(start, count)
  }

  private mutating func openPiece(_ count: Int) -> UnsafeMutableRawPointer {
    let start = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 16)
    pieces.append(Piece(start: start, length: count, owner: nil))
    length += count
    open = start
    used = 0
    return start
  }

  /// Releases all memory that does not contain any of these addresses.
  mutating func release(but addresses: [UnsafeRawPointer]) {
    pieces.sort { $0.start < $1.start }
    for index in pieces.indices {
      pieces[index].isUsed = pieces[index].start == open || pieces[index].start == latest?.memory
    }
    for address in addresses { mark(address) }
    length = 0
    pieces.removeAll { piece in
      if piece.isUsed {
        length += piece.length
        return false
      }
      if piece.owner == nil { piece.start.deallocate() }
      return true
    }
    limit = max(RetainedMemory.leastLimit, 2 * length)
  }

  private mutating func mark(_ address: UnsafeRawPointer) {
    var (low, high) = (0, pieces.count)
    while low < high {
      let middle = (low + high) / 2
      if UnsafeRawPointer(pieces[middle].start) <= address { low = middle + 1 } else { high = middle }
    }
    // An empty suffix may point to the very end of a piece.
    guard low > 0, address <= UnsafeRawPointer(pieces[low - 1].start + pieces[low - 1].length) else { return }
    pieces[low - 1].isUsed = true
    if low > 1, address == UnsafeRawPointer(pieces[low - 1].start) { pieces[low - 2].isUsed = true }
  }
}
