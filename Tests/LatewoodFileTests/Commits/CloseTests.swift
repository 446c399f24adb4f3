import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodFile

/// Closing a file of the real file system while another thread has a call in flight on it.
@Suite struct CloseTests {
  private let directory: TemporaryDirectory
  init() throws { directory = try TemporaryDirectory() }

  /// Holds the reads of a file in the system call, from `hold` until `release`.
  private final class HeldReads: @unchecked Sendable {
    private let monitor = Monitor()
    // SAFETY: used with the monitor held.
    private var isHolding = false
    private var held = 0

    var volume: FileVolume {
      var calls = FileCalls.system
      calls.read = { [self] descriptor, target, offset throws(ErrorNumber) in
        monitor.withLock {
          held += 1
          monitor.broadcast()
          while isHolding { monitor.wait() }
          held -= 1
        }
        return try FileCalls.system.read(descriptor, target, offset)
      }
      return FileVolume(calls: calls)
    }

    func hold() { monitor.withLock { isHolding = true } }

    func release() {
      monitor.withLock {
        isHolding = false
        monitor.broadcast()
      }
    }

    func waitUntilOneIsHeld() {
      monitor.withLock { while held == 0 { monitor.wait() } }
    }
  }

  /// Calls a closure while another thread is in a read of `file`.
  private func whileReading(
    _ file: DatabaseFile, _ reads: HeldReads, _ body: @escaping @Sendable () throws -> Void
  ) throws {
    reads.hold()
    let failure = Guarded<(any Error)?>(nil)
    inThreads([
      {
        var byte: UInt8 = 0
        _ = withUnsafeMutableBytes(of: &byte) { target in try? file.device.read(into: target, at: 0) }
      },
      {
        defer { reads.release() }
        reads.waitUntilOneIsHeld()
        do { try body() } catch { failure.withLock { $0 = error } }
      },
    ])
    if let failure = failure.withLock({ $0 }) { throw failure }
  }

  private func open(_ path: String, on volume: FileVolume) throws -> DatabaseFile {
    let file = try DatabaseFile.open(on: volume, path: path, readOnly: false, environment: .system)
    _ = try file.recover { (_, _, _) throws(StorageError) in }
    return file
  }

  @Test func `a file that was closed during a read opens again before that read ends`() throws {
    let path = directory("db")
    try DatabaseFile.create(on: FileVolume(), path: path, environment: .system)
    let reads = HeldReads()
    let file = try open(path, on: reads.volume)
    try whileReading(file, reads) {
      file.close()
      try open(path, on: FileVolume()).close()
    }
  }
}
