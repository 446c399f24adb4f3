import LatewoodBytes
import LatewoodConcurrency

/// The outcome of `DatabaseFile.refresh`.
package enum RefreshOutcome: Sendable, Equatable {
  case unchanged
  /// Transactions were applied.
  case advanced
  /// A newer checkpoint exists: call `recover` again. Nothing was applied.
  case newCheckpoint
  /// The file was replaced; `reopened` opens the new one. Nothing was applied.
  case replaced
}

extension DatabaseFile {
  /// Applies the commits that another process has made since `recover` or the last call. Read-only
  /// files only.
  ///
  /// O(bytes of the new part of the log). Throws `damaged`, `closed`, and errors of the device.
  /// - Parameter begin: called before the first operation, with the view that contains the records.
  package func refresh(
    begin: (FileView) -> Void = { _ in }, apply: ReplayAction
  ) throws(StorageError) -> RefreshOutcome {
    precondition(isReadOnly, "the file was not opened read-only")
    let pin = device.cache?.pin()
    defer { withExtendedLifetime(pin) {} }
    try progress.check()
    guard try isStillInPlace() else { return .replaced }
    guard let reader = try findNewer() else { return .newCheckpoint }
    progress.extendReadable(through: reader.size)
    let before = tail.replay.transactions
    begin(reader.view)
    var replay = tail.replay
    try replay.apply(view: reader.view, from: tail.position.offset, to: reader.position.offset, apply)
    tail.advance(to: reader, replay)
    noteCommitted(through: tail.position.offset)
    return replay.transactions > before ? .advanced : .unchanged
  }

  /// Walks the log from the end of the last read to its current end; nil if there is a newer
  /// checkpoint.
  private func findNewer() throws(StorageError) -> LogReader<ViewedBytes>? {
    var pause: UInt64 = 2
    while true {
      do throws(StorageError) {
        return try findNewerOnce()
      } catch {
        // A half-written frame followed by a complete one looks like damage until it is complete.
        guard error.kind == .damaged, pause <= 64 else { throw error }
        Monitor.sleep(milliseconds: pause)
        pause *= 2
      }
    }
  }

  /// Opens, read-only, the file that is now at this file's path. Call `recover` on it first.
  ///
  /// Throws `keyNeeded`, `wrongKey` or `notEncrypted` if another process has encrypted or decrypted
  /// it since, or has given it a new key. Its state must descend from the expected one, too.
  package func reopened() throws(StorageError) -> DatabaseFile {
    try DatabaseFile.open(
      on: volume, path: path, readOnly: true, environment: environment, key: fileKey,
      expecting: expected)
  }

  private func isStillInPlace() throws(StorageError) -> Bool {
    // A removed file can still be read.
    guard let there = try volume.identity(of: path) else { return true }
    return there == device.identity
  }

  private func findNewerOnce() throws(StorageError) -> LogReader<ViewedBytes>? {
    mapping.device.cache?.forget(from: tail.position.offset)
    let slots = try slots.read()
    let size = try checkedSize()
    let view = try view(through: size)
    if let newest = slots.first, newest.generation > self.slots.generation, newest.checkpointOffset != 0,
      try checkpoint(at: newest.checkpointOffset, in: view) != nil
    {
      return nil
    }
    var reader = LogReader(
      view: view, from: tail.position, lastTransaction: tail.lastTransaction, after: tail.lastFrame)
    try reader.finish()
    _ = try floor(of: reader, slots: slots.reduce(0) { max($0, $1.durableThrough) })
    return reader
  }
}
