import LatewoodConcurrency

/// The blobs in use by this process. The sweep keeps them even if no body refers to them.
///
/// While a transaction of the sweep removes blobs, they are doomed and lookups do not find them. A
/// blob is therefore either pinned in time or not found.
///
/// Thread safety: all calls from any thread.
final class BlobPins: Sendable {
  private struct State {
    var counts: [BlobDigest: Int] = [:]
    var doomed: Set<BlobDigest> = []
    /// The numbers of blobs that are being written.
    var uploads: Set<UInt64> = []
    /// The greatest number that this process has assigned to a blob.
    var lastUpload: UInt64 = 0
  }

  private let state = Guarded(State())

  /// Pins a blob; returns false if it is about to be removed.
  func pin(_ digest: BlobDigest) -> Bool {
    state.withLock { state in
      if state.doomed.contains(digest) { return false }
      state.counts[digest, default: 0] += 1
      return true
    }
  }

  /// Pins a blob that the running transaction is storing, even if an earlier sweep has doomed the
  /// same digest.
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

  /// Dooms the unpinned blobs and returns them.
  func doom(_ digests: [BlobDigest]) -> [BlobDigest] {
    state.withLock { state in
      let doomed = digests.filter { state.counts[$0] == nil }
      state.doomed.formUnion(doomed)
      return doomed
    }
  }

  /// Clears the doomed state of blobs when the transaction has ended, successfully or not.
  func spare(_ digests: [BlobDigest]) { state.withLock { $0.doomed.subtract(digests) } }

  /// Returns a number for a new blob that neither the file nor this process has used, not even in a
  /// failed batch, whose writer may still have the number.
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
