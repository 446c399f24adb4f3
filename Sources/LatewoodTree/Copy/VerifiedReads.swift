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
  /// The length of a piece of a decrypted value.
  private static let pieceLength = 256 << 10

  private let file: FileView
  private let minimumKeyLength: Int
  /// The nodes on the disk; nil if cached bytes suffice.
  private let nodes: DiskBytes?
  /// The values. One system call serves many adjacent ones.
  private let values: DiskBytes

  /// - Parameter readsDisk: whether to read from the disk instead of the cache, where the system
  ///   can.
  init(_ source: NodeLoader, readsDisk: Bool = false) {
    file = source.file
    minimumKeyLength = source.minimumKeyLength
    nodes = readsDisk ? DiskBytes(source.file, fromDisk: true) : nil
    values = DiskBytes(source.file, fromDisk: readsDisk)
  }

  /// Reads and verifies the root node of `subtree`. Throws `damaged`, and errors of the device.
  func node(_ subtree: Subtree) throws(StorageError) -> NodeCopy {
    let (reference, level) = (subtree.reference, subtree.level)
    guard let nodes else {
      return try NodeCopy(reference, level: level, in: file, minimumKeyLength: minimumKeyLength)
    }
    return try NodeCopy(reference, level: level, in: nodes, minimumKeyLength: minimumKeyLength)
  }

  // MARK: Values

  /// Verifies an extent. Throws `damaged`, and errors of the device.
  func verify(_ value: BaseValue) throws(StorageError) { try values.verify(value.extent) }

  /// Copies an extent to the caller's memory, and verifies and decrypts it there. Returns it as it
  /// will be sealed in another file.
  ///
  /// - Parameter target: memory for the value, and for the trailer that it has in this file.
  ///
  /// Throws `damaged` if the checksum differs.
  func copy(
    _ value: BaseValue, to target: UnsafeMutableRawPointer, for codec: UnitCodec
  ) throws(StorageError) -> UnitCodec.UnplacedExtent {
    let reference = value.extent
    if file.codec.isEncrypted {
      try values.readExtent(reference, into: target)
      return codec.unplaced(target, value.length)
    }
    try reference.check(within: values.size)
    try values.read(
      into: UnsafeMutableRawBufferPointer(start: target, count: value.length), at: reference.offset)
    return try file.codec.open(reference, target, for: codec)
  }

  /// Calls `body` with an extent piece by piece, in private memory, and then verifies its checksum.
  /// An extent of an encrypted file is verified first.
  ///
  /// Throws `damaged` if the checksum differs, after `body` has received the entire extent.
  func eachPiece(
    of value: BaseValue, _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Void
  ) throws(StorageError) {
    let reference = value.extent
    if file.codec.isEncrypted {
      return try withWork(value.length + file.codec.trailerLength) { memory throws(StorageError) in
        try values.readExtent(reference, into: memory)
        for at in stride(from: 0, to: value.length, by: VerifiedReads.pieceLength) {
          let count = min(VerifiedReads.pieceLength, value.length - at)
          try body(UnsafeRawBufferPointer(start: memory + at, count: count))
        }
      }
    }
    try reference.check(within: values.size)
    var pieces = file.codec.pieces(of: .extent, at: reference.offset, count: value.length)
    try values.eachPiece(of: reference.offset..<reference.offset + reference.length) {
      (bytes) throws(StorageError) in
      pieces.add(bytes)
      try body(bytes)
    }
    guard pieces.extentChecksum == reference.checksum else { throw reference.mismatch }
  }
}
