import Dispatch
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree

/// The file that a compaction has replaced, with its version, until it is closed in the background.
/// The last close drops its cached pages and frees its blocks, which is slow.
///
/// Thread safety: all methods may be called from any thread.
final class ReplacedFile: Sendable {
  private let replaced = Guarded<(file: DatabaseFile, version: Version)?>(nil)

  func keep(_ file: DatabaseFile, _ version: Version) { replaced.withLock { $0 = (file, version) } }

  /// Releases the file on the current thread, so that its blocks are free on return.
  func release() {
    let old = replaced.withLock { old in
      defer { old = nil }
      return old
    }
    withExtendedLifetime(old) {}
  }

  /// Releases the file on another thread.
  func scheduleRelease() { DispatchQueue.global(qos: .utility).async { self.release() } }
}
