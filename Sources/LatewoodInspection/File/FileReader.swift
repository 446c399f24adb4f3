import LatewoodBytes
import LatewoodDevice

/// Reads a file by plain calls, with no mapping: what the disk cannot give is an error with its place, and not the end of the process.
///
/// Small reads that follow each other come from one window. Not for use by several threads.
package final class FileReader {
  private static let windowLength = 128 << 10

  let device: any Device
  /// Bytes of the file when it was looked at last; what was appended since is not touched.
  package private(set) var size: UInt64 = 0
  private var window: [UInt8] = []
  private var windowStart: UInt64 = 0

  init(_ device: any Device) { self.device = device }

  /// Looks at the size anew and forgets what was read.
  func refresh() throws(Fault) {
    size = try device.size()
    window = []
  }

  /// The bytes of a range that lies within the file and is no longer than `limit`.
  package func bytes(_ range: Range<UInt64>, limit: Int = 64 << 20) throws(Fault) -> [UInt8] {
    guard range.upperBound <= size, range.upperBound - range.lowerBound <= UInt64(limit) else {
      throw Fault.damaged(at: range.lowerBound, "what should be here does not lie within the file")
    }
    let bytes = try readSome(at: range.lowerBound, count: range.count)
    guard bytes.count == range.count else {
      throw Fault(.inputOutput, "the file has become shorter while it was read", offset: range.lowerBound)
    }
    return bytes
  }

  /// At most `count` bytes from `offset` on, fewer at the end of the file. For many small reads in ascending order.
  package func some(at offset: UInt64, count: Int) throws(Fault) -> ArraySlice<UInt8> {
    guard offset < size else { return [] }
    let wanted = Int(min(UInt64(count), size - offset))
    if offset < windowStart || offset - windowStart + UInt64(wanted) > UInt64(window.count) {
      // Where one block cannot be read, those beside it still can.
      do throws(Fault) {
        window = try readSome(at: offset, count: max(wanted, Self.windowLength))
      } catch {
        window = try readSome(at: offset, count: wanted)
      }
      windowStart = offset
    }
    let start = Int(offset - windowStart)
    return window[min(start, window.count)..<min(start + wanted, window.count)]
  }

  /// Calls `body` with the bytes of a range, piece by piece, until it returns false. The range lies within the file.
  package func forEachPiece(
    of range: Range<UInt64>, _ body: (_ offset: UInt64, _ piece: UnsafeRawBufferPointer) -> Bool
  ) throws(Fault) {
    var at = range.lowerBound
    while at < range.upperBound {
      let piece = try bytes(at..<min(range.upperBound, at + 1 << 20))
      if !piece.withUnsafeBytes({ body(at, $0) }) { return }
      at += UInt64(piece.count)
    }
  }

  /// Whether all bytes of a range within the file are zero.
  package func isZero(_ range: Range<UInt64>) throws(Fault) -> Bool {
    var isZero = true
    try forEachPiece(of: range) { _, piece in
      isZero = piece.isZero
      return isZero
    }
    return isZero
  }

  private func readSome(at offset: UInt64, count: Int) throws(Fault) -> [UInt8] {
    guard offset < size else { return [] }
    let count = Int(min(UInt64(count), size - offset))
    var bytes = [UInt8](repeating: 0, count: count)
    var failure: Fault?
    let got = bytes.withUnsafeMutableBytes { target in
      do throws(Fault) {
        return try device.read(into: target, at: offset)
      } catch {
        failure = error
        return 0
      }
    }
    if let failure { throw failure }
    bytes.removeLast(count - got)
    return bytes
  }
}

extension UnsafeRawBufferPointer {
  var isZero: Bool {
    var at = 0
    // SAFETY: every load is below `count`.
    guard let base = baseAddress else { return true }
    while at + 8 <= count {
      if base.u64(at) != 0 { return false }
      at += 8
    }
    while at < count {
      if base.u8(at) != 0 { return false }
      at += 1
    }
    return true
  }
}
