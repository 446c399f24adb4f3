import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile

/// The decision about an entry when its file is compacted or copied.
package enum Rewritten {
  case keep
  case replace([UInt8])
  case drop
}

/// A function that decides about an entry of one keyspace. The pointers are valid during the call.
package typealias Rewriter =
  @Sendable (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StorageError) ->
  Rewritten

/// Copies all entries of a tree into another file, for a compaction.
///
/// ```
/// old    leaves and extents where commits and checkpoints have written them
/// new    extents of a leaf | extents of the next | ... | full nodes | extents ...   in key order
/// ```
///
/// Full leaves without extents are copied unchanged except for offset and checksum; others are
/// rebuilt from their entries. Nodes are written once 4 MiB of extents have been written since the
/// last ones, so that both can be read back during the copy. A leaf with more extents is not
/// divided.
///
/// Reads the old tree leaf by leaf into private memory (`LeafPrefetcher`), and verifies every byte
/// in the memory from which it is written, so damage is an error and never gets a new checksum.
/// Memory: a region of nodes and pieces of extents, 8 MiB in total, regardless of the size of the
/// tree or its values.
///
/// Memory of replaced values is retained until no pending node can refer to it (`RewrittenValues`).
package struct TreeCopy: ~Copyable {
  /// The new file and the functions that write to it, called on the thread that runs the copy.
  package struct Target {
    /// A view of the new file.
    package var view: FileView
    package var nodeSize: Int
    /// The maximum length of a rewritten value that is stored inline; longer ones become extents.
    package var inlineValueLimit: Int
    package var transaction: UInt64
    package var reserve: (_ length: Int) throws(StorageError) -> UInt64
    package var write: (_ bytes: UnsafeRawBufferPointer, _ offset: UInt64) throws(StorageError) -> Void
    /// Called after a region of nodes has been written. All extents that they refer to were written
    /// before.
    package var didPlace: (_ region: Range<UInt64>) throws(StorageError) -> Void
    /// Called after each leaf with the number of bytes of the old tree copied since the last call.
    package var step: (_ bytes: UInt64) throws(StorageError) -> Void

    package init(
      view: FileView, nodeSize: Int, inlineValueLimit: Int, transaction: UInt64,
      reserve: @escaping (_ length: Int) throws(StorageError) -> UInt64,
      write: @escaping (_ bytes: UnsafeRawBufferPointer, _ offset: UInt64) throws(StorageError) -> Void,
      didPlace: @escaping (_ region: Range<UInt64>) throws(StorageError) -> Void,
      step: @escaping (_ bytes: UInt64) throws(StorageError) -> Void
    ) {
      self.view = view
      self.nodeSize = nodeSize
      self.inlineValueLimit = inlineValueLimit
      self.transaction = transaction
      self.reserve = reserve
      self.write = write
      self.didPlace = didPlace
      self.step = step
    }
  }

  private enum Value {
    case inline(UnsafeRawPointer, Int)
    case extent(BaseValue)
    case newExtent([UInt8])
  }

  /// The number of bytes of extents after which the nodes that refer to them are written.
  private static let greatestSpread = 4 << 20

  private let reads: VerifiedReads
  private let target: Target
  private let rewriters: [UInt32: Rewriter]
  private let builder: TreeBuilder
  private let extents: ExtentWriter
  /// Whether both files are encrypted, or neither is.
  private let isSameLayout: Bool
  /// The number of bytes of extents written since the last nodes.
  private var spread = 0
  private var replaced = RewrittenValues()
  private var waiting: [(key: PrefixedKey, value: Value)] = []
  private var placed: [(offset: UInt64, length: UInt64, checksum: UInt32)] = []

  /// - Parameters:
  ///   - base: the tree to copy, whose file the caller keeps mapped.
  ///   - rewriters: rewriters by keyspace number; entries of other keyspaces are kept.
  /// - Returns: the root of the new tree; nil if it is empty.
  package static func run(
    _ base: Subtree?, in file: FileView, to target: Target, rewriters: [UInt32: Rewriter] = [:]
  ) throws(StorageError) -> Subtree? {
    var copy = TreeCopy(file, target, rewriters)
    // With rewriters, it is not known in advance which extents are kept.
    let leaves = LeafPrefetcher(base, in: file, newCodec: rewriters.isEmpty ? target.view.codec : nil)
    BackgroundThread.run { leaves.run() }
    defer { leaves.stop() }
    while let batch = try leaves.next() {
      try copy.take(batch)
      leaves.recycle(batch)
    }
    return try copy.builder.finish()
  }

  private init(_ file: FileView, _ target: Target, _ rewriters: [UInt32: Rewriter]) {
    reads = VerifiedReads(NodeLoader(file: file))
    isSameLayout = file.codec.isEncrypted == target.view.codec.isEncrypted
    self.target = target
    self.rewriters = rewriters
    let sink = RegionWriter(
      codec: target.view.codec, pieceLength: 1 << 20, reserve: target.reserve, write: target.write,
      didPlace: target.didPlace)
    builder = TreeBuilder(
      sink: sink, source: NodeLoader(file: target.view), nodeSize: target.nodeSize,
      transaction: target.transaction)
    extents = ExtentWriter(codec: target.view.codec, write: target.write)
  }

  private mutating func take(_ batch: LeafPrefetcher.Batch) throws(StorageError) {
    guard batch.hasExtents else {
      for copy in batch.leaves { try rewrite(copy) }
      return
    }
    // An empty extent takes no space.
    var offset = FileLayout.logStart
    if batch.length > 0 {
      offset = try target.reserve(batch.length)
      batch.place(at: offset, target.view.codec)
      try target.write(batch.extents, offset)
    }
    var unplaced = batch.unplaced[...]
    for copy in batch.leaves {
      let start = offset
      try append(copy, &offset, &unplaced)
      try target.step(UInt64(copy.node.length) + (offset - start))
    }
    try didWrite(extents: batch.length)
  }

  /// Appends the entries of a leaf.
  ///
  /// - Parameters:
  ///   - offset: the offset of its first extent in the new file; updated to the offset of the next
  ///     leaf's first extent.
  ///   - unplaced: its extents and the following ones; those of this leaf are removed.
  private mutating func append(
    _ copy: NodeCopy, _ offset: inout UInt64, _ unplaced: inout ArraySlice<UnitCodec.UnplacedExtent>
  ) throws(StorageError) {
    builder.releaseUnused()
    let leaf = copy.node
    if !leaf.hasExtents, isSameLayout, try builder.transplant(leaf) { return }
    builder.retain(copy)
    for index in 0..<leaf.count {
      let entry = leaf.entry(index)
      let key = PrefixedKey(leaf.prefix, leaf.prefixCount, entry.suffix, entry.suffixCount)
      if entry.value.isExtent {
        let length = UInt64(entry.value.length)
        let checksum = target.view.codec.sealExtent(at: offset, unplaced.removeFirst())
        try builder.append(key, extent: offset, length: length, checksum: checksum)
        offset += length + UInt64(target.view.codec.trailerLength)
      } else {
        try builder.append(key, inline: entry.value.pointer, entry.value.length)
      }
    }
  }

  /// Writes the finished nodes once they refer to enough bytes of extents.
  private mutating func didWrite(extents length: Int) throws(StorageError) {
    spread += length
    guard spread >= TreeCopy.greatestSpread else { return }
    spread = 0
    try builder.placeFinished()
  }

  private func append(
    _ key: PrefixedKey, _ place: (offset: UInt64, length: UInt64, checksum: UInt32)
  ) throws(StorageError) {
    try builder.append(key, extent: place.offset, length: place.length, checksum: place.checksum)
  }

  /// Writes the extents of the pending entries contiguously into reserved space of their exact
  /// length.
  private mutating func placeWaiting(_ extentLength: Int) throws(StorageError) {
    placed.removeAll(keepingCapacity: true)
    if extentLength > 0 { extents.begin(at: try target.reserve(extentLength)) }
    for (_, value) in waiting {
      switch value {
      case .inline: continue
      case .extent(let value): try place(value)
      case .newExtent(let bytes):
        try bytes.withStart { (start, count) throws(StorageError) in
          try place(UnsafeRawBufferPointer(start: start, count: count))
        }
      }
    }
    try extents.flush()
  }

  /// Copies a leaf whose entries may be replaced or dropped, or whose extents do not fit into
  /// memory together. Their total length depends on the entries kept.
  private mutating func rewrite(_ copy: NodeCopy) throws(StorageError) {
    builder.releaseUnused()
    let leaf = copy.node
    builder.retain(copy)
    waiting.removeAll(keepingCapacity: true)
    var extentLength = 0
    for index in 0..<leaf.count {
      let value = leaf.entry(index).value
      let key = leaf.key(index)
      if let rewriter = rewriter(for: key) {
        try rewrite(key, value, rewriter, &extentLength)
      } else {
        try keep(key, value, &extentLength)
      }
    }
    try placeWaiting(extentLength)
    var next = 0
    for (key, value) in waiting {
      if case .inline(let start, let count) = value {
        try builder.append(key, inline: start, count)
      } else {
        try append(key, placed[next])
        next += 1
      }
    }
    try target.step(UInt64(leaf.length) + UInt64(extentLength))
    try didWrite(extents: extentLength)
  }

  /// Writes an extent of the old file into the reserved space.
  private mutating func place(_ value: BaseValue) throws(StorageError) {
    let (offset, checksum) = try extents.append(value, from: reads)
    placed.append((offset, UInt64(value.length), checksum))
  }

  /// Writes a new extent into the reserved space.
  private mutating func place(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
    let (offset, checksum) = try extents.append(bytes)
    placed.append((offset, UInt64(bytes.count), checksum))
  }

  private mutating func keep(
    _ key: PrefixedKey, _ value: BaseValue, _ extentLength: inout Int
  ) throws(StorageError) {
    if value.isExtent {
      extentLength += value.length + target.view.codec.trailerLength
      waiting.append((key, .extent(value)))
    } else {
      waiting.append((key, .inline(value.pointer, value.length)))
    }
  }

  // MARK: Rewriting

  private func rewriter(for key: PrefixedKey) -> Rewriter? {
    if rewriters.isEmpty { return nil }
    var number: UInt32 = 0
    for index in 0..<4 { number = number << 8 | UInt32(key.byte(index)) }
    return rewriters[number]
  }

  private mutating func rewrite(
    _ key: PrefixedKey, _ value: BaseValue, _ rewriter: Rewriter, _ extentLength: inout Int
  ) throws(StorageError) {
    var bytes = UnsafeRawBufferPointer(start: value.pointer, count: value.length)
    var extent: [UInt8] = []
    if value.isExtent {
      // The length is untrusted, so memory grows with the bytes read instead of being reserved.
      try reads.eachPiece(of: value) { extent += $0 }
    }
    let fullKey = key.bytes
    let outcome = try fullKey.withStart { (start, count) throws(StorageError) in
      try extent.withStart { (extentStart, extentCount) throws(StorageError) in
        if value.isExtent { bytes = UnsafeRawBufferPointer(start: extentStart, count: extentCount) }
        return try rewriter(UnsafeRawBufferPointer(start: start + 4, count: count - 4), bytes)
      }
    }
    switch outcome {
    case .keep: try keep(key, value, &extentLength)
    case .drop: return
    case .replace(let new):
      if new.count > target.inlineValueLimit {
        extentLength += new.count + target.view.codec.trailerLength
        waiting.append((key, .newExtent(new)))
      } else {
        waiting.append((key, .inline(replaced.store(new), new.count)))
      }
    }
  }
}

/// Inline values from rewriters, retained as long as a pending node may refer to them.
///
/// At most two nodes of 64 KiB are pending, so the last two pieces suffice.
private struct RewrittenValues {
  private static let pieceLength = 256 << 10
  private var pieces: [Piece] = []

  private final class Piece {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: RewrittenValues.pieceLength, alignment: 8)
    var used = 0
    // SAFETY: by the time two newer pieces are full, every node with a pointer into this one has
    // been written.
    deinit { memory.deallocate() }
  }

  /// Copies a value of at most 1,024 bytes.
  mutating func store(_ bytes: [UInt8]) -> UnsafeRawPointer {
    if pieces.last.map({ $0.used + bytes.count > RewrittenValues.pieceLength }) ?? true {
      pieces.append(Piece())
      if pieces.count > 3 { pieces.removeFirst() }
    }
    let piece = pieces[pieces.count - 1]
    let start = piece.memory + piece.used
    bytes.withUnsafeBytes { source in
      if let address = source.baseAddress { start.copyMemory(from: address, byteCount: source.count) }
    }
    piece.used += bytes.count
    return UnsafeRawPointer(start)
  }
}

/// Writes consecutive values into reserved space, and returns the offset and checksum of each.
final class ExtentWriter {
  private static let capacity = 1 << 20

  private let codec: UnitCodec
  private let write: (_ bytes: UnsafeRawBufferPointer, _ offset: UInt64) throws(StorageError) -> Void
  /// The last value may be read with a trailer that it does not have in the new file.
  private let memory = UnsafeMutableRawPointer.allocate(byteCount: ExtentWriter.capacity + 64, alignment: 64)
  private var used = 0
  /// The file offset of the bytes in `memory`.
  private var start: UInt64 = 0

  init(
    codec: UnitCodec,
    write: @escaping (_ bytes: UnsafeRawBufferPointer, _ offset: UInt64) throws(StorageError) -> Void
  ) {
    self.codec = codec
    self.write = write
  }

  // SAFETY: the pointer is shared only during calls of `write`.
  deinit { memory.deallocate() }

  /// Sets the offset of the next values. All earlier values must have been flushed.
  func begin(at offset: UInt64) { start = offset }

  func append(_ value: UnsafeRawBufferPointer) throws(StorageError) -> (offset: UInt64, checksum: UInt32) {
    if codec.isEncrypted {
      return try appendEncrypted(value.count) { target throws(StorageError) in
        UnsafeMutableRawBufferPointer(start: target, count: value.count).copyMemory(from: value)
      }
    }
    let offset = start + UInt64(used)
    let checksum = codec.sealExtent(at: offset, value)
    guard let bytes = value.baseAddress else { return (offset, checksum) }
    if value.count > ExtentWriter.capacity - used { try flush() }
    if value.count > ExtentWriter.capacity {
      try write(value, start)
      start += UInt64(value.count)
    } else {
      (memory + used).copyMemory(from: bytes, byteCount: value.count)
      used += value.count
    }
    return (offset, checksum)
  }

  /// Copies an extent of another file, verifying it in the memory from which it is written.
  func append(_ value: BaseValue, from reads: VerifiedReads) throws(StorageError) -> (
    offset: UInt64, checksum: UInt32
  ) {
    if codec.isEncrypted {
      return try appendEncrypted(value.length) { target throws(StorageError) in
        _ = try reads.copy(value, to: target, for: codec)
      }
    }
    if value.length <= ExtentWriter.capacity {
      if value.length > ExtentWriter.capacity - used { try flush() }
      let unplaced = try reads.copy(value, to: memory + used, for: codec)
      let offset = start + UInt64(used)
      used += value.length
      return (offset, codec.sealExtent(at: offset, unplaced))
    }
    let offset = start + UInt64(used)
    var pieces = codec.pieces(of: .extent, at: offset, count: value.length)
    try reads.eachPiece(of: value) { bytes throws(StorageError) in
      pieces.add(bytes)
      if bytes.count > ExtentWriter.capacity - used { try flush() }
      if let address = bytes.baseAddress {
        (memory + used).copyMemory(from: address, byteCount: bytes.count)
        used += bytes.count
      }
    }
    return (offset, pieces.extentChecksum)
  }

  /// Appends a value of an encrypted file.
  ///
  /// - Parameter fill: writes the value to memory that has space for it and for a trailer.
  private func appendEncrypted(
    _ length: Int, _ fill: (UnsafeMutableRawPointer) throws(StorageError) -> Void
  ) throws(StorageError) -> (offset: UInt64, checksum: UInt32) {
    let stored = length + codec.trailerLength
    if stored > ExtentWriter.capacity - used { try flush() }
    let offset = start + UInt64(used)
    guard stored > ExtentWriter.capacity else {
      try fill(memory + used)
      let checksum = codec.sealExtent(at: offset, memory + used, into: memory + used, length)
      used += stored
      return (offset, checksum)
    }
    return try withWork(stored) { memory throws(StorageError) in
      try fill(memory)
      let checksum = codec.sealExtent(at: offset, memory, into: memory, length)
      try write(UnsafeRawBufferPointer(start: memory, count: stored), offset)
      start += UInt64(stored)
      return (offset, checksum)
    }
  }

  func flush() throws(StorageError) {
    guard used > 0 else { return }
    try write(UnsafeRawBufferPointer(start: memory, count: used), start)
    start += UInt64(used)
    used = 0
  }
}
