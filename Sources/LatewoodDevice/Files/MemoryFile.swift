import LatewoodBytes
import LatewoodConcurrency
import Synchronization

/// The bytes of one file of a `MemoryVolume`.
///
/// They are in a range of addresses that is proportional to the file. When the file outgrows that
/// range, they are copied to a larger one. The smaller ranges are kept as long as they are mapped,
/// and writes below their end go to them as well.
///
/// Invariant: every range that is alive contains all bytes of the file that it covers.
final class MemoryFile: Sendable {
  private struct Older {
    weak var range: MemoryRange?
  }

  private struct Content {
    var newest: MemoryRange
    var older: [Older] = []
    var size: UInt64 = 0
    /// The number of punched bytes.
    var punched: UInt64 = 0

    /// Calls `body` with all ranges that may still be read.
    func eachAlive(_ body: (MemoryRange) -> Void) {
      for older in older {
        if let range = older.range { body(range) }
      }
      body(newest)
    }
  }

  private static let pageLength = 4096
  private static let files = Atomic<UInt64>(1 << 48)

  /// A number that no other file of this process has ever had.
  let number = MemoryFile.files.add(1, ordering: .relaxed).newValue
  let inode: UInt64
  /// The number of devices that hold the lock for reading; -1 if one holds it exclusively.
  let readers = Atomic<Int>(0)
  private let content: Guarded<Content>

  init(inode: UInt64) throws(StorageError) {
    self.inode = inode
    content = Guarded(Content(newest: try MemoryRange(capacities: [Reservation.least])))
  }

  var size: UInt64 { content.withLock { $0.size } }
  var allocatedSize: UInt64 { content.withLock { $0.size - min($0.size, $0.punched) } }

  func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
    content.withLock { content in
      guard offset < content.size, let address = target.baseAddress else { return 0 }
      let count = Int(min(UInt64(target.count), content.size - offset))
      // SAFETY: the bytes below `size` are in the newest range, and `target` has room for `count`.
      address.copyMemory(from: content.newest.base + Int(offset), byteCount: count)
      return count
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) {
    guard let address = bytes.baseAddress, !bytes.isEmpty else { return }
    let (end, overflow) = offset.addingReportingOverflow(UInt64(bytes.count))
    guard !overflow, end <= UInt64(Int64.max) else {
      throw StorageError(.fileTooLarge, "no file can have so many bytes", offset: offset)
    }
    try content.withLock { content throws(StorageError) in
      if end > content.newest.capacity {
        let capacities = Reservation.capacities(covering: end, isRepeated: true)
        guard !capacities.isEmpty else {
          throw StorageError(.fileTooLarge, "memory has no place for so large a file", offset: offset)
        }
        try MemoryFile.grow(&content, capacities)
      }
      content.eachAlive { range in
        guard offset < range.capacity else { return }
        // SAFETY: the part lies within the range; writes to the same bytes do not overlap in time,
        // as the protocol requires.
        (range.base + Int(offset)).copyMemory(
          from: address, byteCount: Int(min(UInt64(bytes.count), range.capacity - offset)))
      }
      content.size = max(content.size, end)
    }
  }

  func map(capacity: UInt64) throws(StorageError) -> AddressSpace {
    try content.withLock { content throws(StorageError) in
      try MemoryFile.grow(&content, [capacity])
      return try AddressSpace.over(content.newest, capacity: capacity)
    }
  }

  /// Ensures that the newest range has at least the last of these capacities.
  private static func grow(_ content: inout Content, _ capacities: [UInt64]) throws(StorageError) {
    guard let least = capacities.last, least > content.newest.capacity else { return }
    let larger = try MemoryRange(capacities: capacities)
    let old = content.newest
    var at = 0
    while at < Int(content.size) {
      let count = min(pageLength, Int(content.size) - at)
      // SAFETY: both ranges have all bytes below `size`.
      let page = UnsafeRawBufferPointer(start: old.base + at, count: count)
      // A hole takes no memory in the new range either.
      if !page.allSatisfy({ $0 == 0 }) {
        (larger.base + at).copyMemory(from: old.base + at, byteCount: count)
      }
      at += count
    }
    content.older.removeAll { $0.range == nil }
    content.older.append(Older(range: old))
    content.newest = larger
  }

  /// Returns the memory of complete pages to the system; returns false if that is not supported.
  func punch(offset: UInt64, length: UInt64) -> Bool {
    content.withLock { content in
      var isDone = true
      content.eachAlive { range in
        guard offset < range.capacity else { return }
        let count = min(length, range.capacity - offset)
        // SAFETY: the pages are in the range, and their contents are not needed, as the protocol
        // requires.
        if !SystemCalls.discardPages(range.base + Int(offset), length: Int(count)) { isDone = false }
      }
      if isDone, offset < content.newest.capacity { content.punched += length }
      return isDone
    }
  }
}
