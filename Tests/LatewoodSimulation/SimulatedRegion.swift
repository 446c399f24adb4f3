import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice

/// The memory of one simulated file's live bytes, lent by a pool and returned with the last
/// reference.
///
/// It remembers the ranges written, so that the pool can restore it without copying the rest.
// SAFETY: `touched` is only used under the volume's lock and in `deinit`, which has exclusive
// access.
final class SimulatedRegion: @unchecked Sendable {
  static let sectorLength = 512

  let range: MemoryRange
  private let home: RegionPool
  private var touched: [Range<Int>]

  fileprivate init(_ range: MemoryRange, home: RegionPool) {
    self.range = range
    self.home = home
    touched = []
  }

  deinit { home.takeBack(range, touched: touched) }

  var base: UnsafeMutableRawPointer { range.base }

  /// Notes that `bytes` are about to change.
  func touch(_ bytes: Range<Int>) {
    if let last = touched.last, bytes.lowerBound <= last.upperBound, bytes.upperBound >= last.lowerBound {
      touched[touched.count - 1] =
        min(last.lowerBound, bytes.lowerBound)..<max(last.upperBound, bytes.upperBound)
    } else if touched.count < 256 {
      touched.append(bytes)
    } else {
      // Many scattered writes: one range covers all of them now.
      let low = touched.reduce(bytes.lowerBound) { min($0, $1.lowerBound) }
      let high = touched.reduce(bytes.upperBound) { max($0, $1.upperBound) }
      touched = [low..<high]
    }
  }
}

/// A pool of reusable regions that all start with the same bytes. A crash test opens thousands of
/// images of one file; mapping, copying and unmapping each would cost far more than restoring the
/// few sectors in which they differ.
final class RegionPool: Sendable {
  private struct Idle {
    let range: MemoryRange
    let touched: [Range<Int>]
  }
  private let idle = Guarded<[Idle]>([])
  private let content: [UInt8]
  private let capacity: UInt64

  init(content: [UInt8], capacity: UInt64) {
    self.content = content
    self.capacity = capacity
  }

  /// Lends a region that starts with `content`, followed by zeros.
  func lend() throws(StorageError) -> SimulatedRegion {
    if let idle = idle.withLock({ $0.popLast() }) {
      for range in idle.touched { restore(range, in: idle.range) }
      return SimulatedRegion(idle.range, home: self)
    }
    let range = try MemoryRange(capacities: [capacity])
    restore(0..<content.count, in: range)
    return SimulatedRegion(range, home: self)
  }

  private func restore(_ bytes: Range<Int>, in range: MemoryRange) {
    let copied = bytes.clamped(to: 0..<content.count)
    content.withUnsafeBytes { content in
      if let source = content.baseAddress, !copied.isEmpty {
        (range.base + copied.lowerBound).copyMemory(
          from: source + copied.lowerBound, byteCount: copied.count)
      }
    }
    let zeroed = max(bytes.lowerBound, content.count)
    if zeroed < bytes.upperBound {
      (range.base + zeroed).initializeMemory(
        as: UInt8.self, repeating: 0, count: bytes.upperBound - zeroed)
    }
  }

  fileprivate func takeBack(_ range: MemoryRange, touched: [Range<Int>]) {
    // A region that would take longer to restore than to map again is returned to the system.
    guard touched.reduce(0, { $0 + $1.count }) < 8 << 20 else { return }
    idle.withLock { if $0.count < 8 { $0.append(Idle(range: range, touched: touched)) } }
  }
}
