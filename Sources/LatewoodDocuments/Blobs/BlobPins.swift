import LatewoodDevice

/// Blobs that this process uses although no body may refer to them: the sweep leaves them alone.
///
/// While a transaction of the sweep removes blobs they are doomed: who asks for one of them is told
/// that it is not there. So a blob is either pinned in time, or gone before it was found.
///
/// Thread safety: all calls from any thread.
final class BlobPins: Sendable {
  private struct State {
    var counts: [BlobDigest: Int] = [:]
    var doomed: Set<BlobDigest> = []
    /// Numbers of blobs that are being written.
    var uploads: Set<UInt64> = []
    /// The greatest number that this process has given to a blob.
    var lastUpload: UInt64 = 0
  }

  private let state = Guarded(State())

  /// False if it is about to be removed.
  func pin(_ digest: BlobDigest) -> Bool {
    state.withLock { state in
      if state.doomed.contains(digest) { return false }
      state.counts[digest, default: 0] += 1
      return true
    }
  }

  /// Pins one that a transaction is just putting in: what a sweep before it has removed is
  /// something else.
  func pinWritten(_ digest: BlobDigest) {
    state.withLock { state in
      state.doomed.remove(digest)
      state.counts[digest, default: 0] += 1
    }
  }

  func unpin(_ digest: BlobDigest) {
    state.withLock { state in
      guard let count = state.counts[digest] else { return }
      state.counts[digest] = count > 1 ? count - 1 : nil
    }
  }

  /// Dooms those that are not pinned, and says which those are.
  func doom(_ digests: [BlobDigest]) -> [BlobDigest] {
    state.withLock { state in
      let doomed = digests.filter { state.counts[$0] == nil }
      state.doomed.formUnion(doomed)
      return doomed
    }
  }

  /// The transaction has ended, one way or the other.
  func spare(_ digests: [BlobDigest]) { state.withLock { $0.doomed.subtract(digests) } }

  /// The number of a blob that is about to be written: one that neither the file nor this process
  /// has seen, also if the batch that took the last one has failed. For then a writer may be left
  /// that has it.
  func beginUpload(after stored: UInt64) -> UInt64 {
    state.withLock { state in
      state.lastUpload = max(stored, state.lastUpload) &+ 1
      state.uploads.insert(state.lastUpload)
      return state.lastUpload
    }
  }

  func ended(_ upload: UInt64) { state.withLock { _ = $0.uploads.remove(upload) } }
  func isActive(_ upload: UInt64) -> Bool { state.withLock { $0.uploads.contains(upload) } }
}
