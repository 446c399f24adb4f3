import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile

/// Reads the leaves of a tree in key order, with their extents, and verifies both in private
/// memory. A separate thread reads ahead of the thread that writes them.
///
/// ```
/// separate thread    read, verify | read, verify | ...          one batch after the other
/// copying thread                    write        | write ...    from the memory of the batch
/// ```
///
/// Every byte is read once, verified once, and written from the memory in which it was verified. If
/// no thread is available, the copying thread reads the batches itself.
///
/// A batch contains the extents of all its leaves, or is a single leaf whose extents are longer
/// than a batch. The copying thread reads such extents itself, piece by piece.
///
/// Memory: 3 batches of at most 1 MiB of extents and 32 leaves.
///
/// Thread safety: `run` on a separate thread; everything else from the copying thread.
// SAFETY: `state` is only accessed with the monitor held. `reads`, `pending` and `waiting` belong
// to the thread that has set `isReading`, and a batch to the thread that has taken it from `state`.
final class LeafPrefetcher: @unchecked Sendable {
  /// Consecutive leaves and their extents.
  final class Batch {
    static let capacity = 1 << 20
    static let greatestCount = 32

    fileprivate(set) var leaves: [NodeCopy] = []
    /// The extents as they will be sealed in the new file, in order.
    fileprivate(set) var unplaced: [UnitCodec.UnplacedExtent] = []
    /// Whether the extents were read. If not, there is only one leaf.
    fileprivate(set) var hasExtents = true
    /// The number of bytes of extents, which are adjacent in `memory`.
    fileprivate(set) var length = 0
    // SAFETY: freed in deinit; no pointer into it is used after the batch is returned.
    // The last value may be read with a trailer that it does not have in the new file.
    fileprivate let memory = UnsafeMutableRawPointer.allocate(byteCount: capacity + 64, alignment: 64)

    var extents: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: length) }

    deinit { memory.deallocate() }

    /// Seals the extents for the offset at which they will be written.
    func place(at offset: UInt64, _ codec: UnitCodec) {
      guard codec.isEncrypted else { return }
      var (index, at) = (0, 0)
      for copy in leaves {
        for entry in 0..<copy.node.count {
          let value = copy.node.entry(entry).value
          guard value.isExtent else { continue }
          codec.place(&unplaced[index], at: offset + UInt64(at), memory + at, value.length)
          index += 1
          at += value.length + codec.trailerLength
        }
      }
    }

    fileprivate func clear() {
      leaves.removeAll(keepingCapacity: true)
      unplaced.removeAll(keepingCapacity: true)
      hasExtents = true
      length = 0
    }
  }

  private struct State {
    /// Batches to read into.
    var free: [Batch]
    /// Batches that have been read, in order.
    var ready: ArraySlice<Batch> = []
    /// Whether a thread is reading a batch.
    var isReading = false
    var isStopped = false
    /// Whether only the failure, if any, follows the ready batches.
    var isAtEnd = false
    var failure: StorageError?
  }

  private let reads: VerifiedReads
  /// The codec of the file that the extents will be written to; nil if they are not read here.
  private let newCodec: UnitCodec?
  /// Subtrees to read, the next one last.
  private var pending: [Subtree]
  /// A leaf that was read but belongs to the next batch.
  private var waiting: NodeCopy?
  private let monitor = Monitor()
  private var state: State

  /// - Parameters:
  ///   - base: the tree, whose file the caller keeps mapped until `stop` has returned.
  ///   - newCodec: the codec of the file that the extents will be written to; nil if the copying
  ///     thread reads all extents itself.
  init(_ base: Subtree?, in file: FileView, newCodec: UnitCodec?) {
    reads = VerifiedReads(NodeLoader(file: file))
    self.newCodec = newCodec
    pending = base.map { [$0] } ?? []
    state = State(free: (0..<3).map { _ in Batch() })
  }

  /// Reads ahead until the end of the tree, a failure, or a call of `stop`.
  func run() {
    monitor.withLock {
      while !state.isStopped, !state.isAtEnd {
        if state.isReading || state.free.isEmpty { monitor.wait() } else { read() }
      }
    }
  }

  /// Returns the next batch; nil at the end. Throws `damaged`, and errors of the device, only after
  /// all earlier batches have been returned.
  func next() throws(StorageError) -> Batch? {
    try monitor.withLock { () throws(StorageError) in
      while true {
        if let batch = state.ready.popFirst() { return batch }
        if state.isAtEnd {
          if let failure = state.failure { throw failure }
          return nil
        }
        if state.isReading || state.free.isEmpty { monitor.wait() } else { read() }
      }
    }
  }

  /// Returns a written batch for reuse.
  func recycle(_ batch: Batch) {
    batch.clear()
    monitor.withLock {
      state.free.append(batch)
      monitor.broadcast()
    }
  }

  /// Stops reading ahead and waits until no thread reads.
  func stop() {
    monitor.withLock {
      state.isStopped = true
      state.isAtEnd = true
      monitor.broadcast()
      while state.isReading { monitor.wait() }
    }
  }

  // MARK: Reading

  /// Reads a batch. The monitor is held on entry and on return, but not while reading.
  private func read() {
    let batch = state.free.removeLast()
    state.isReading = true
    monitor.unlock()
    var failure: StorageError?
    var isAtEnd = false
    do throws(StorageError) { isAtEnd = try fill(batch) } catch { failure = error }
    monitor.lock()
    state.isReading = false
    state.failure = failure
    if isAtEnd || failure != nil { state.isAtEnd = true }
    if batch.leaves.isEmpty { state.free.append(batch) } else { state.ready.append(batch) }
    monitor.broadcast()
  }

  /// Reads as many leaves with their extents as fit. Returns whether these were the last.
  private func fill(_ batch: Batch) throws(StorageError) -> Bool {
    while batch.leaves.count < Batch.greatestCount {
      guard let leaf = try nextLeaf() else { return true }
      let length = extentLength(of: leaf.node)
      guard newCodec != nil, length <= Batch.capacity - batch.length else {
        if batch.leaves.isEmpty {
          batch.hasExtents = false
          batch.leaves.append(leaf)
        } else {
          waiting = leaf
        }
        return false
      }
      if length > 0 || leaf.node.hasExtents { try readExtents(of: leaf.node, into: batch) }
      batch.leaves.append(leaf)
    }
    return false
  }

  private func nextLeaf() throws(StorageError) -> NodeCopy? {
    if let leaf = waiting {
      waiting = nil
      return leaf
    }
    while let subtree = pending.popLast() {
      let copy = try reads.node(subtree)
      let node = copy.node
      if node.isLeaf { return copy }
      for index in (0..<node.count).reversed() { pending.append(node.childSubtree(index)) }
      withExtendedLifetime(copy) {}
    }
    return nil
  }

  private func extentLength(of leaf: Node) -> Int {
    var length = 0
    for index in 0..<leaf.count {
      let value = leaf.entry(index).value
      if value.isExtent { length += value.length + (newCodec?.trailerLength ?? 0) }
    }
    return length
  }

  private func readExtents(of leaf: Node, into batch: Batch) throws(StorageError) {
    guard let newCodec else { return }
    for index in 0..<leaf.count {
      let value = leaf.entry(index).value
      guard value.isExtent else { continue }
      batch.unplaced.append(try reads.copy(value, to: batch.memory + batch.length, for: newCodec))
      batch.length += value.length + newCodec.trailerLength
    }
  }
}
