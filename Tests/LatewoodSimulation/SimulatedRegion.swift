import LatewoodBytes
import LatewoodDevice

/// The memory of one simulated file's live bytes, lent by a pool and given back when the last user
/// lets go of it.
///
/// It remembers where it was written, so that the pool can make it what it was without copying the
/// rest.
// SAFETY: `touched` is only used under the volume's lock, and in `deinit`, when there is no other
// user.
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

  /// Says that `bytes` are about to change.
  func touch(_ bytes: Range<Int>) {
    if let last = touched.last, bytes.lowerBound <= last.upperBound, bytes.upperBound >= last.lowerBound {
      touched[touched.count - 1] =
        min(last.lowerBound, bytes.lowerBound)..<max(last.upperBound, bytes.upperBound)
    } else if touched.count < 256 {
      touched.append(bytes)
    } else {
      // Far-flung writes: from here on one range over all of them.
      let low = touched.reduce(bytes.lowerBound) { min($0, $1.lowerBound) }
      let high = touched.reduce(bytes.upperBound) { max($0, $1.upperBound) }
      touched = [low..<high]
    }
  }
}

/// Regions that all start as the same bytes, used again and again: a crash test opens thousands of
/// images of one file, and to map, copy and unmap each would cost far more than the few sectors in
/// which they differ.
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

  /// A region that starts as `content` with zeroes after it.
  func lend() throws(Fault) -> SimulatedRegion {
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
    // What would take longer to restore than to map afresh goes back to the system.
    guard touched.reduce(0, { $0 + $1.count }) < 8 << 20 else { return }
    idle.withLock { if $0.count < 8 { $0.append(Idle(range: range, touched: touched)) } }
  }
}
