import LatewoodBytes
import LatewoodDevice
import LatewoodFile

/// Reads nodes and values into private memory with system calls, and verifies them there regardless
/// of earlier verifications.
///
/// It is used for passes over an entire tree: the bytes that are written again are exactly the
/// verified ones, and an unreadable block causes an error instead of ending the process.
///
/// Thread safety: one thread at a time.
final class VerifiedReads {
  private static let pieceLength = 1 << 20

  private let file: FileView
  private let minimumKeyLength: Int
  /// The windows for reads from the disk; nil if cached bytes suffice.
  private let directWindows: (nodes: DiskWindow, values: DiskWindow)?
  /// The window for reading values through the page cache: one system call serves many adjacent
  /// values.
  private var values: DiskWindow?
  private var piece: UnsafeMutableRawBufferPointer?

  /// - Parameter readsDisk: whether to read from the disk instead of the cache, where the system
  ///   can.
  init(_ source: NodeLoader, readsDisk: Bool = false) {
    file = source.file
    minimumKeyLength = source.minimumKeyLength
    let file = file
    let window = {
      DiskWindow(readsAhead: false) { (target, offset) throws(StorageError) in
        try file.readFromDisk(into: target, at: offset)
      }
    }
    directWindows = readsDisk ? (window(), window()) : nil
  }

  deinit { piece?.deallocate() }

  /// Reads and verifies the root node of `subtree`. Throws `damaged`, and errors of the device.
  func node(_ subtree: Subtree) throws(StorageError) -> NodeCopy {
    let reference = subtree.reference
    let length = UInt64(reference.length)
    guard length >= 48, length <= UInt64(NodeLayout.maximumLength), length <= file.limit,
      reference.offset <= file.limit - length, reference.offset >= NodeLayout.firstFrame,
      reference.offset % UInt64(NodeLayout.alignment) == 0
    else {
      throw StorageError.damaged(
        at: reference.offset, "a node does not lie within the file at a multiple of 64")
    }
    let copy = NodeCopy(length: Int(length))
    let target = UnsafeMutableRawBufferPointer(start: copy.memory, count: copy.length)
    if let directWindows {
      copy.memory.copyMemory(
        from: try directWindows.nodes.bytes(at: reference.offset, copy.length, below: blockLimit),
        byteCount: copy.length)
    } else {
      try file.read(into: target, at: reference.offset)
    }
    try NodeValidation(
      base: copy.memory, seed: file.seed, reference: reference, minimumKeyLength: minimumKeyLength
    ).run()
    guard copy.node.level == subtree.level else {
      throw StorageError.damaged(
        at: reference.offset, "the level of a node contradicts the reference to it")
    }
    return copy
  }

  /// The end of the file's last block.
  private var blockLimit: UInt64 {
    let mask = UInt64(directAlignment - 1)
    return (file.limit + mask) & ~mask
  }

  /// Calls `body` with each leaf under `root`, from left to right, until it returns false.
  func eachLeaf(under root: Subtree?, _ body: (NodeCopy) throws(StorageError) -> Bool) throws(StorageError) {
    if let root { _ = try visit(root, body) }
  }

  private func visit(
    _ subtree: Subtree, _ body: (NodeCopy) throws(StorageError) -> Bool
  ) throws(StorageError) -> Bool {
    let copy = try node(subtree)
    defer { withExtendedLifetime(copy) {} }
    let node = copy.node
    if node.isLeaf { return try body(copy) }
    for index in 0..<node.count {
      if try !visit(node.childSubtree(index), body) { return false }
    }
    return true
  }

  // MARK: Values

  /// Returns a verified extent in private memory, valid until the next call; nil if it is too long
  /// for one piece.
  ///
  /// Throws `damaged` if the checksum differs.
  func extent(_ value: BaseValue) throws(StorageError) -> UnsafeRawBufferPointer? {
    guard value.length <= VerifiedReads.pieceLength / 2 else { return nil }
    let (offset, length) = (value.extentOffset, UInt64(value.length))
    guard length <= file.limit, offset <= file.limit - length, offset >= NodeLayout.firstFrame else {
      throw VerifiedReads.outside(offset)
    }
    let bytes =
      length > 0 ? try piece(at: offset, value.length) : UnsafeRawBufferPointer(start: nil, count: 0)
    guard UInt32(truncatingIfNeeded: XXH64.hash(bytes, seed: file.seed)) == value.extentChecksum else {
      throw VerifiedReads.mismatch(offset)
    }
    return bytes
  }

  private static func outside(_ offset: UInt64) -> StorageError {
    StorageError.damaged(at: offset, "a value's extent does not lie within the file")
  }

  private static func mismatch(_ offset: UInt64) -> StorageError {
    StorageError.damaged(at: offset, "a value does not match its checksum")
  }

  /// Copies an extent to the caller's memory, and verifies it there. Returns its checksum in a file
  /// with another seed.
  ///
  /// Throws `damaged` if the checksum differs.
  func copy(
    _ value: BaseValue, to target: UnsafeMutableRawPointer, seed: UInt64
  ) throws(StorageError) -> UInt32 {
    let (offset, length) = (value.extentOffset, UInt64(value.length))
    guard length <= file.limit, offset <= file.limit - length, offset >= NodeLayout.firstFrame else {
      throw VerifiedReads.outside(offset)
    }
    var done = 0
    while done < value.length {
      let bytes = try piece(
        at: offset + UInt64(done), min(value.length - done, VerifiedReads.pieceLength / 2))
      guard let start = bytes.baseAddress else { break }
      (target + done).copyMemory(from: start, byteCount: bytes.count)
      done += bytes.count
    }
    let (here, there) = XXH64.hashes(target, value.length, seeds: (file.seed, seed))
    guard UInt32(truncatingIfNeeded: here) == value.extentChecksum else {
      throw VerifiedReads.mismatch(offset)
    }
    return UInt32(truncatingIfNeeded: there)
  }

  /// Calls `body` with an extent piece by piece, in private memory, and then verifies its checksum.
  ///
  /// Throws `damaged` if the checksum differs, after `body` has received the entire extent.
  func eachPiece(
    of value: BaseValue, _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Void
  ) throws(StorageError) {
    let (offset, length) = (value.extentOffset, UInt64(value.length))
    guard length <= file.limit, offset <= file.limit - length, offset >= NodeLayout.firstFrame else {
      throw VerifiedReads.outside(offset)
    }
    var stream = XXH64.Stream(seed: file.seed)
    var done: UInt64 = 0
    while done < length {
      let bytes = try piece(at: offset + done, Int(min(length - done, UInt64(VerifiedReads.pieceLength / 2))))
      stream.update(bytes)
      try body(bytes)
      done += UInt64(bytes.count)
    }
    guard UInt32(truncatingIfNeeded: stream.finish()) == value.extentChecksum else {
      throw VerifiedReads.mismatch(offset)
    }
  }

  /// Reads a piece, which is valid until the next call.
  private func piece(at offset: UInt64, _ length: Int) throws(StorageError) -> UnsafeRawBufferPointer {
    if let directWindows {
      return UnsafeRawBufferPointer(
        start: try directWindows.values.bytes(at: offset, length, below: blockLimit), count: length)
    }
    let window = values ?? cachedWindow()
    values = window
    do throws(StorageError) {
      return UnsafeRawBufferPointer(
        start: try window.bytes(at: offset, length, below: blockLimit), count: length)
    } catch {
      // The failure may be caused by nearby bytes that are not needed.
      return try pieceAlone(at: offset, length)
    }
  }

  private func cachedWindow() -> DiskWindow {
    let file = file
    return DiskWindow(readsAhead: false) { (target, offset) throws(StorageError) in
      let count = Int(min(UInt64(target.count), file.limit - min(file.limit, offset)))
      try file.read(into: UnsafeMutableRawBufferPointer(rebasing: target[..<count]), at: offset)
      return count
    }
  }

  private func pieceAlone(at offset: UInt64, _ length: Int) throws(StorageError) -> UnsafeRawBufferPointer {
    let memory = piece ?? .allocate(byteCount: VerifiedReads.pieceLength / 2, alignment: 64)
    piece = memory
    let target = UnsafeMutableRawBufferPointer(rebasing: memory[..<length])
    try file.read(into: target, at: offset)
    return UnsafeRawBufferPointer(target)
  }
}
