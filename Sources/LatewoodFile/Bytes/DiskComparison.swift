import LatewoodBytes
import LatewoodDevice

/// Compares a file on the disk with its mapping. Bytes that have been read are kept as long as this
/// value exists, so the file must not be written during that time.
///
/// After a failed sync the page cache keeps bytes that never reached the disk, in pages marked
/// clean. The system drops them on request, but not while another process, or a snapshot in this
/// one, has them mapped. Writing the same bytes again does not help: ext4 has been observed to
/// report the second write as durable, but to contain zeros after the next mount.
struct DiskComparison: ~Copyable {
  private static let impossible = StorageError(.unsupported, "this file system cannot read past the cache")

  private let device: any Device
  private let disk: DiskBytes
  /// Whether the bytes in the mapping are decrypted, so that the system's cache has to be read.
  private let isEncrypted: Bool
  private var isImpossible = false

  init(of device: any Device, codec: UnitCodec) {
    self.device = device
    isEncrypted = codec.isEncrypted
    disk = DiskBytes(codec: codec, size: .max) { (target, offset) throws(StorageError) in
      guard let count = try device.rereadFromDisk(into: target, at: offset) else {
        throw DiskComparison.impossible
      }
      return count
    }
  }

  /// Returns whether disk and mapping agree on a range of the file. Returns true if the system
  /// cannot read the disk past its cache.
  ///
  /// - Parameter base: the address where the file is mapped.
  ///
  /// Throws errors of the device if a second read fails too.
  mutating func agrees(
    on range: Range<UInt64>, mappedAt base: UnsafeRawPointer
  ) throws(StorageError) -> Bool {
    if isImpossible { return true }
    var at = range.lowerBound
    while at < range.upperBound {
      let there: UnsafeRawBufferPointer
      do throws(StorageError) {
        there = try disk.some(at: at, range.upperBound - at)
      } catch {
        guard error.kind == .unsupported else { throw error }
        isImpossible = true
        return true
      }
      // The file may be shorter on the disk.
      guard !there.isEmpty else { return false }
      guard try isSeen(there, at: at, mappedAt: base) else { return false }
      at += UInt64(there.count)
    }
    return true
  }

  private func isSeen(
    _ there: UnsafeRawBufferPointer, at offset: UInt64, mappedAt base: UnsafeRawPointer
  ) throws(StorageError) -> Bool {
    guard isEncrypted else {
      // SAFETY: the caller guarantees that the range is in the file and is not being written.
      return DiskComparison.areEqual(
        there, UnsafeRawBufferPointer(start: base + Int(offset), count: there.count))
    }
    return try withWork(there.count) { memory throws(StorageError) in
      let seen = UnsafeMutableRawBufferPointer(start: memory, count: there.count)
      guard try device.read(into: seen, at: offset) == there.count else { return false }
      return DiskComparison.areEqual(there, UnsafeRawBufferPointer(seen))
    }
  }

  private static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    guard let left = left.baseAddress, let other = right.baseAddress else { return true }
    var at = 0
    while at + 8 <= right.count {
      if left.u64(at) != other.u64(at) { return false }
      at += 8
    }
    while at < right.count {
      if left.u8(at) != other.u8(at) { return false }
      at += 1
    }
    return true
  }
}

extension Device {
  /// Reads from the disk like `readFromDisk`, and once more if that fails: the system may have
  /// reported an earlier failure, which it reports only once.
  func rereadFromDisk(
    into target: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(StorageError) -> Int? {
    do throws(StorageError) {
      return try readFromDisk(into: target, at: offset)
    } catch {
      return try readFromDisk(into: target, at: offset)
    }
  }
}
