import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodFile
import LatewoodTree

/// Reads a new file back from the disk and verifies it, following the thread that writes it.
///
/// ```
/// writing thread      region | region | region | region ...
///                        add \      add \
/// separate thread            sync, read, verify | ...        one region behind, because the last
///                                                            block will be written again
/// finish              the rest, after everything has been synced, on both threads
/// ```
///
/// Before reading, the separate thread sends the bytes to the disk, at most one window at a time,
/// so that a commit to the old file waits for the disk only behind one window.
///
/// If no thread is available, `finish` verifies the remaining regions itself. If the system does
/// not support reads past its cache, `finish` returns false.
///
/// Thread safety: `add`, `finish` and `stop` from the thread that writes the file.
// SAFETY: `state` is only accessed with the monitor held; `backgroundVerifier` only by the separate
// thread.
final class ReadBack: @unchecked Sendable {
  private struct State: ~Copyable {
    /// The written regions that no thread has begun to read, in order.
    var regions: ArraySlice<Range<UInt64>> = []
    /// The number of regions taken from `regions`; `joined` is the number of these in `tree`.
    var taken = 0
    var joined = 0
    /// Regions that have been read but are not in `tree` yet, because an earlier one is still being
    /// read.
    var read: [Int: VerifiedRegion] = [:]
    var tree = CopyVerifier()
    /// Bytes below this offset will not be written again.
    var limit: UInt64 = 0
    /// Whether the separate thread runs.
    var isFollowing = false
    var isStopped = false
    var isImpossible = false
    var failure: StorageError?

    /// Whether a thread is reading a region.
    var isReading: Bool { taken > joined + read.count }
    /// The next region if it can be read now.
    var next: Range<UInt64>? { regions.first.flatMap { $0.upperBound <= limit ? $0 : nil } }
    var isOver: Bool { isStopped || isImpossible || failure != nil }

    /// Adds the regions read so far to `tree`, in order.
    mutating func join() throws(StorageError) {
      while let region = read.removeValue(forKey: joined) {
        joined += 1
        try tree.take(region)
      }
    }
  }

  private let monitor = Monitor()
  // SAFETY: under `monitor`.
  private var state = State()
  private let backgroundVerifier: RegionVerifier
  private let callerVerifier: RegionVerifier
  private let device: any Device

  init(_ file: DatabaseFile) {
    let device = file.device
    self.device = device
    let read = { (target: UnsafeMutableRawBufferPointer, offset: UInt64) throws(StorageError) -> Int in
      guard let count = try device.readFromDisk(into: target, at: offset) else { throw ReadBack.impossible }
      return count
    }
    backgroundVerifier = RegionVerifier(codec: file.header.codec, read: read)
    callerVerifier = RegionVerifier(codec: file.header.codec, read: read)
  }

  func start() { BackgroundThread.run { self.run() } }

  private static let impossible = StorageError(.unsupported, "this file system cannot read past the cache")

  private func run() {
    monitor.withLock {
      state.isFollowing = true
      while !state.isOver {
        if let region = state.next { verify(region, with: backgroundVerifier) } else { monitor.wait() }
      }
      state.isFollowing = false
      monitor.broadcast()
    }
  }

  /// Reads and verifies a region. The monitor is held on entry and on return, but not while
  /// reading.
  private func verify(_ region: Range<UInt64>, with verifier: RegionVerifier) {
    let limit = state.limit
    let number = state.taken
    state.taken += 1
    state.regions.removeFirst()
    // `add` may continue as soon as few enough regions wait.
    monitor.broadcast()
    monitor.unlock()
    var read = VerifiedRegion.nothing
    var failure: StorageError?
    do throws(StorageError) { read = try verifier.read(region, below: limit) } catch { failure = error }
    monitor.lock()
    state.read[number] = read
    do throws(StorageError) {
      if let failure { throw failure }
      if !state.isOver { try state.join() }
    } catch {
      if error.kind == .unsupported {
        state.isImpossible = true
      } else {
        state.failure = state.failure ?? error
      }
    }
    monitor.broadcast()
  }

  /// The number of regions that may wait for the separate thread.
  private static let mostWaiting = 4

  /// Adds a region. The region and everything before it must be written. Waits while the separate
  /// thread is far behind, so that little is left to the final sync, during which commits would
  /// wait for the disk. Throws errors found in earlier regions.
  func add(_ region: Range<UInt64>) throws(StorageError) {
    let isPossible = try monitor.withLock { () throws(StorageError) in
      if let failure = state.failure { throw failure }
      if state.isImpossible { return false }
      state.regions.append(region)
      // Its last block will be written again.
      state.limit = region.upperBound & ~UInt64(directAlignment - 1)
      if state.next != nil { monitor.broadcast() }
      while state.isFollowing, !state.isOver, state.regions.count > ReadBack.mostWaiting { monitor.wait() }
      return true
    }
    // Reading makes the system write the file. Without reads, request the writing, or everything is
    // left to the final sync.
    if !isPossible {
      device.startWriteback(offset: region.lowerBound, length: region.upperBound - region.lowerBound)
    }
  }

  /// Verifies the remaining regions. The entire file must have been synced.
  ///
  /// - Parameter step: called after each region.
  /// - Returns: false if the file cannot be read past the cache.
  func finish(_ root: Subtree?, step: () throws(StorageError) -> Void) throws(StorageError) -> Bool {
    monitor.withLock {
      state.limit = .max
      monitor.broadcast()
    }
    while true {
      let isDone = try monitor.withLock { () throws(StorageError) in
        if !state.isOver, let region = state.next {
          verify(region, with: callerVerifier)
        } else if state.isReading {
          monitor.wait()
        }
        if let failure = state.failure { throw failure }
        return !state.isReading && (state.isImpossible || state.next == nil)
      }
      if isDone { break }
      try step()
    }
    return try monitor.withLock { () throws(StorageError) in
      if state.isImpossible { return false }
      try state.tree.finish(root)
      return true
    }
  }

  /// Stops reading and waits until no thread reads.
  func stop() {
    monitor.withLock {
      state.isStopped = true
      monitor.broadcast()
      while state.isReading { monitor.wait() }
    }
  }
}
