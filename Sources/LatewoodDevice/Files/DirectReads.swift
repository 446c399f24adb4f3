import LatewoodBytes
import LatewoodConcurrency

/// Reads a file, bypassing the system's cache, through a separate descriptor that is opened for the
/// first read.
///
/// There are two reasons for a separate descriptor. Otherwise all reads and writes of the file
/// would bypass the cache. And the system reports a failed write once to each open descriptor, so a
/// failure that is reported here is still reported to the next sync.
///
/// Thread safety: all calls from any thread.
final class DirectReads: Sendable {
  private enum State: Sendable {
    case unasked
    case open(OpenDescriptor)
    /// The operating system or the file system does not support such reads, or the file is no
    /// longer at its path.
    case impossible
    case closed
  }

  private let identity: FileIdentity
  private let state = Guarded(State.unasked)

  /// - Parameter identity: the identity that the file at the path must have.
  init(identity: FileIdentity) { self.identity = identity }

  /// Returns the number of bytes read; nil if such reads are not supported. See
  /// `Device.readFromDisk`.
  ///
  /// - Parameter path: the last known path of the file.
  func read(
    into target: UnsafeMutableRawBufferPointer, at offset: UInt64, path: String
  ) throws(StorageError) -> Int? {
    guard let descriptor = try opened(path), let start = Int64(exactly: offset) else { return nil }
    return try descriptor.use { number throws(StorageError) in
      do throws(ErrorNumber) {
        // Reading would wait for unwritten pages, and block writers of the file during that time;
        // this call does not block them.
        try retried { () throws(ErrorNumber) in
          try SystemCalls.writeBack(number, start, Int64(target.count))
        }
        var done = 0
        while done < target.count {
          let count = try retried { () throws(ErrorNumber) in
            try SystemCalls.readFile(number, .init(rebasing: target[done...]), start + Int64(done))
          }
          done += count
          // Fewer bytes than requested, and not a multiple of a block: the file ends here.
          if count == 0 || count % directAlignment != 0 { break }
        }
        return done
      } catch {
        if error == .invalid || error == .notSupported {
          refuse()
          return nil
        }
        throw StorageError(error, "read the file from the disk", path: path, offset: offset)
      }
    }
  }

  private func opened(_ path: String) throws(StorageError) -> OpenDescriptor? {
    try state.withLock { state throws(StorageError) in
      switch state {
      case .open(let descriptor): return descriptor
      case .impossible: return nil
      case .closed: throw StorageError(.closed, "the file has been closed")
      case .unasked:
        let descriptor = tryToOpen(path)
        state = descriptor.map { .open($0) } ?? .impossible
        return descriptor
      }
    }
  }

  private func tryToOpen(_ path: String) -> OpenDescriptor? {
    do throws(ErrorNumber) {
      let descriptor = OpenDescriptor(try SystemCalls.openDirect(path))
      var status: SystemCalls.Status?
      do throws(StorageError) {
        status = try descriptor.use { number throws(StorageError) in
          do throws(ErrorNumber) { return try SystemCalls.status(number) } catch { return nil }
        }
      } catch {
        return nil
      }
      return status?.identity == identity ? descriptor : nil
    } catch {
      return nil
    }
  }

  private func refuse() { state.withLock { if case .open = $0 { $0 = .impossible } } }

  func close() {
    state.withLock { state in
      if case .open(let descriptor) = state { descriptor.close() }
      state = .closed
    }
  }
}
