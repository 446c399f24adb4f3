import LatewoodBytes

/// Reads of a file that go past the system's cache, through an open of its own that is made when
/// the first is asked for.
///
/// An open of its own, because the system would read and write everything so through the other one,
/// and because it tells each open of a failed write once: what is waited for here takes nothing
/// from what a sync has to tell.
///
/// Thread safety: all calls from any thread.
final class DirectReads: Sendable {
  private enum State: Sendable {
    case unasked
    case open(OpenDescriptor)
    /// The system or the file system has no such reads, or the file is not at its path any more.
    case impossible
    case closed
  }

  private let identity: FileIdentity
  private let state = Guarded(State.unasked)

  /// - Parameter identity: what the file at the path must be.
  init(identity: FileIdentity) { self.identity = identity }

  /// How many bytes were read; nil where there are no such reads. As `Device.readFromDisk`.
  ///
  /// - Parameter path: where the file is, as far as is known.
  func read(
    into target: UnsafeMutableRawBufferPointer, at offset: UInt64, path: String
  ) throws(Fault) -> Int? {
    guard let descriptor = try opened(path), let start = Int64(exactly: offset) else { return nil }
    return try descriptor.use { number throws(Fault) in
      do throws(ErrorNumber) {
        // To read waits for what is not written yet, but keeps writers of the file out while it
        // waits; this does not.
        try retried { () throws(ErrorNumber) in
          try SystemCalls.writeBack(number, start, Int64(target.count))
        }
        var done = 0
        while done < target.count {
          let count = try retried { () throws(ErrorNumber) in
            try SystemCalls.readFile(number, .init(rebasing: target[done...]), start + Int64(done))
          }
          done += count
          // Less than was asked for, and no whole blocks: the file ends here.
          if count == 0 || count % directAlignment != 0 { break }
        }
        return done
      } catch {
        if error == .invalid || error == .notSupported {
          refuse()
          return nil
        }
        throw Fault(error, "read the file from the disk", path: path, offset: offset)
      }
    }
  }

  private func opened(_ path: String) throws(Fault) -> OpenDescriptor? {
    try state.withLock { state throws(Fault) in
      switch state {
      case .open(let descriptor): return descriptor
      case .impossible: return nil
      case .closed: throw Fault(.closed, "the file has been closed")
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
      do throws(Fault) {
        status = try descriptor.use { number throws(Fault) in
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
