import LatewoodBytes
import LatewoodDevice

/// The bytes of a damaged file, read with plain reads and never through a mapping: a block that the disk cannot give counts as zeros, where a
/// mapping would end the process.
///
/// It never writes. For one thread.
package final class SalvageSource {
  /// When reading began; what is appended later is not looked at.
  let size: UInt64
  /// Blocks that the device would not give.
  private(set) var unreadable: [Range<UInt64>] = []
  private let device: any Device
  private var window: [UInt8] = []
  private var windowStart: UInt64 = 0

  private static let windowLength = 256 << 10
  private static let blockLength = 4096

  package init(_ device: any Device) throws(Fault) {
    self.device = device
    size = try device.size()
  }

  /// Whether all of these bytes are in the file.
  func holds(_ offset: UInt64, _ count: UInt64) -> Bool { count <= size && offset <= size - count }

  /// A copy of bytes of the file; nil if they do not all lie in it.
  func bytes(at offset: UInt64, count: Int) throws(Fault) -> [UInt8]? {
    if count <= Self.windowLength {
      return try withBytes(at: offset, count: count) {
        Array(UnsafeRawBufferPointer(start: $0, count: count))
      }
    }
    guard holds(offset, UInt64(count)) else { return nil }
    return try read(at: offset, count: count)
  }

  /// Calls `body` with the address of bytes of the file, at most 256 KiB; nil if they do not all lie in it.
  func withBytes<R>(
    at offset: UInt64, count: Int, _ body: (UnsafeRawPointer) throws(Fault) -> R
  ) throws(Fault) -> R? {
    precondition(count <= Self.windowLength)
    guard holds(offset, UInt64(count)) else { return nil }
    if offset < windowStart || offset + UInt64(count) > windowStart + UInt64(window.count) {
      let length = Int(min(UInt64(Self.windowLength), size - offset))
      window = try read(at: offset, count: length)
      windowStart = offset
    }
    let place = Int(offset - windowStart)
    return try window.withStart { (start, _) throws(Fault) in try body(start + place) }
  }

  /// The hash of bytes that lie in the file, in pieces.
  func hash(_ range: Range<UInt64>, seed: UInt64) throws(Fault) -> UInt64 {
    var stream = XXH64.Stream(seed: seed)
    var at = range.lowerBound
    while at < range.upperBound {
      let count = Int(min(UInt64(Self.windowLength), range.upperBound - at))
      let isThere: Void? = try withBytes(at: at, count: count) {
        stream.update(UnsafeRawBufferPointer(start: $0, count: count))
      }
      guard isThere != nil else { break }
      at += UInt64(count)
    }
    return stream.finish()
  }

  /// The first byte from `offset` on that is not zero; `end` if there is none before it.
  func firstNonZero(from offset: UInt64, to end: UInt64) throws(Fault) -> UInt64 {
    var at = offset
    while at < end {
      let count = Int(min(UInt64(Self.windowLength), end - at))
      let found: Int?? = try withBytes(at: at, count: count) { start in
        UnsafeRawBufferPointer(start: start, count: count).firstIndex { $0 != 0 }
      }
      guard let found else { return end }
      if let found { return at + UInt64(found) }
      at += UInt64(count)
    }
    return end
  }

  private func read(at offset: UInt64, count: Int) throws(Fault) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: count)
    do throws(Fault) {
      _ = try fill(&result, 0..<count, at: offset)
      return result
    } catch {
      guard error.kind == .inputOutput else { throw error }
    }
    // Somewhere in it is a block that cannot be read: all others are still wanted.
    var done = 0
    while done < count {
      let position = offset + UInt64(done)
      let piece = min(count - done, Self.blockLength - Int(position % UInt64(Self.blockLength)))
      do throws(Fault) {
        _ = try fill(&result, done..<done + piece, at: position)
      } catch {
        guard error.kind == .inputOutput else { throw error }
        note(unreadable: position..<position + UInt64(piece))
      }
      done += piece
    }
    return result
  }

  private func note(unreadable range: Range<UInt64>) {
    if let last = unreadable.last, last.upperBound == range.lowerBound {
      unreadable[unreadable.count - 1] = last.lowerBound..<range.upperBound
    } else if !unreadable.contains(where: { $0.contains(range.lowerBound) }) {
      unreadable.append(range)
    }
  }

  private func fill(_ bytes: inout [UInt8], _ part: Range<Int>, at offset: UInt64) throws(Fault) -> Int {
    try bytes.withUnsafeMutableBytes { buffer in
      Result { () throws(Fault) in
        try device.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[part]), at: offset)
      }
    }.get()
  }
}
