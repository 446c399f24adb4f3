import LatewoodBytes
import LatewoodDevice
import LatewoodStore

/// A file in memory in which a test has destroyed bytes. It cannot be written to.
final class DamagedFile: Device {
  private let bytes: [UInt8]
  private let unreadable: [Range<UInt64>]
  private let patch: (start: Int, bytes: [UInt8])

  /// - Parameter patch: the bytes that replace those from `start` on.
  init(
    _ bytes: [UInt8], unreadable: [Range<UInt64>] = [], patch: (start: Int, bytes: [UInt8]) = (0, [])
  ) {
    self.bytes = bytes
    self.unreadable = unreadable
    self.patch = patch
  }

  func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
    guard offset < UInt64(bytes.count) else { return 0 }
    let count = min(target.count, bytes.count - Int(offset))
    let range = offset..<offset + UInt64(count)
    if unreadable.contains(where: { $0.overlaps(range) }) { throw StorageError(.inputOutput, "a bad block") }
    let read = Int(offset)..<Int(offset) + count
    bytes.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[read])) }
    let patched = read.clamped(to: patch.start..<patch.start + patch.bytes.count)
    for place in patched { target[place - read.lowerBound] = patch.bytes[place - patch.start] }
    return count
  }

  func size() throws(StorageError) -> UInt64 { UInt64(bytes.count) }
  func allocatedSize() throws(StorageError) -> UInt64 { UInt64(bytes.count) }
  func permissions() throws(StorageError) -> UInt16 { 0o600 }
  var identity: FileIdentity { FileIdentity(device: 1, inode: 1) }
  var blockLength: UInt64 { 4096 }
  func lockForReading() throws(StorageError) {}
  func tryLockExclusively() throws(StorageError) -> Bool { true }
  func unlockExclusively() {}
  func dropCache(_ range: Range<UInt64>) {}
  func startWriteback(offset: UInt64, length: UInt64) {}
  func reserve(offset: UInt64, length: UInt64) {}
  var prefersZeroedSpace: Bool { false }
  func close() {}

  private static let refusal = StorageError(.readOnly, "a salvage must not do this to its source")
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) { throw Self.refusal }
  func sync() throws(StorageError) { throw Self.refusal }
  func map(capacity: UInt64) throws(StorageError) -> AddressSpace { throw Self.refusal }
  func readFromDisk(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError)
    -> Int?
  {
    nil
  }
  func punch(offset: UInt64, length: UInt64) throws(StorageError) -> Bool { throw Self.refusal }
}
