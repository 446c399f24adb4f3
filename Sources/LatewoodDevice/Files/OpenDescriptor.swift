import LatewoodBytes
import Synchronization

/// A file descriptor that is closed exactly once, and never while a call uses it.
///
/// The system reuses a descriptor's number for the next file as soon as it is closed, so a late
/// read would read another file. Therefore calls in flight are counted, and the last of them closes
/// the descriptor.
///
/// ```
/// state   bit 63: closing    bits 0 ..< 63: calls in flight
/// ```
final class OpenDescriptor: Sendable {
  private static let closing: UInt64 = 1 << 63
  private let number: Int32
  private let forkGeneration = SystemCalls.forkGeneration
  private let state = Atomic<UInt64>(0)

  /// Takes over `number`.
  init(_ number: Int32) { self.number = number }

  deinit {
    if state.load(ordering: .acquiring) & OpenDescriptor.closing == 0 { release() }
  }

  /// Runs `body` with the descriptor; throws `closed` after `close`.
  @inline(__always) func use<Result>(_ body: (Int32) throws(StorageError) -> Result) throws(StorageError)
    -> Result
  {
    let before = state.add(1, ordering: .acquiring).oldValue
    defer {
      let after = state.subtract(1, ordering: .acquiringAndReleasing).newValue
      if after == OpenDescriptor.closing { finish() }
    }
    guard before & OpenDescriptor.closing == 0 else {
      throw StorageError(.closed, "the file has been closed")
    }
    return try body(number)
  }

  /// Closes the descriptor once no call uses it. Idempotent.
  func close() {
    let before = state.bitwiseOr(OpenDescriptor.closing, ordering: .acquiringAndReleasing).oldValue
    if before == 0 { finish() }
  }

  // Two calls after the close may both see the count fall to zero, but only one changes the state
  // from "closing, none in flight" to its final value.
  private func finish() {
    let done = OpenDescriptor.closing | 1 << 62
    if state.compareExchange(
      expected: OpenDescriptor.closing, desired: done, ordering: .acquiringAndReleasing
    ).exchanged {
      release()
    }
  }

  private func release() {
    // A mapping keeps the open file, and its locks, alive after the close, so unlock first. In a
    // forked child the locks are the parent's.
    if forkGeneration == SystemCalls.forkGeneration {
      SystemCalls.unlockFile(number)
      SystemCalls.unlockWriting(number)
    }
    SystemCalls.closeFile(number)
  }
}
