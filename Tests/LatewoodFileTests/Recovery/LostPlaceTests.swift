import LatewoodBytes
import LatewoodConcurrency
import Testing

@testable import LatewoodFile

/// A file that loses its name to a compaction of this process, or to another process.
@Suite struct LostPlaceTests {
  private let bench: LogBench

  init() throws { bench = try LogBench() }

  /// The remaining work of a flush that makes a commit durable.
  enum Rest: CaseIterable { case all, sync }

  /// Makes a commit that is not durable yet.
  private func begin(_ rest: Rest, in log: DatabaseFile) throws -> CommitPosition {
    _ = try log.writer.beginTransaction()
    try log.put("a", [1])
    let position = try log.writer.commitTransaction()
    if rest == .sync { try log.flush(through: position, durable: false) }
    return position
  }

  private func replacement(of log: DatabaseFile) throws -> DatabaseFile {
    let next = try log.createReplacement()
    _ = try next.recover { (_, _, _) throws(StorageError) in }
    try next.commit([("a", [1])])
    return next
  }

  @Test(arguments: Rest.allCases)
  func `a commit that becomes durable while this process renames its file succeeds`(
    _ rest: Rest
  ) throws {
    let log = try bench.open().log
    let next = try replacement(of: log)
    let position = try begin(rest, in: log)
    let met = Guarded<StorageError.Kind??>(nil)
    bench.volume.plan.withLock { plan in
      plan.afterRename = {
        let kind = faultKind { try log.flush(through: position, durable: true) }
        met.withLock { $0 = .some(kind) }
      }
    }
    try next.replace(log)
    #expect(met.withLock { $0 } == .some(nil))
    // A late flush succeeds too, and the new file is in place.
    let late = try begin(rest, in: log)
    try log.flush(through: late, durable: true)
    try next.commit([("b", [2])])
    log.close()
    next.close()
    #expect(try bench.read().entries == ["a": [1], "b": [2]])
  }

  /// The ways in which another process can change the name of a file.
  enum Mishap: CaseIterable { case removed, renamed, replaced }

  private func happen(_ mishap: Mishap) throws {
    let volume = bench.volume.memory
    switch mishap {
    case .removed: try volume.remove(bench.path)
    case .renamed: try volume.rename(bench.path, to: "aside")
    case .replaced:
      try DatabaseFile.create(on: volume, path: "other", environment: bench.environment)
      try volume.rename("other", to: bench.path)
    }
    // Until then a commit relies on the last lookup: see `PathCheck.interval`.
    Monitor.sleep(milliseconds: 3)
  }

  @Test(arguments: Rest.allCases, Mishap.allCases)
  func `once the file loses its name to someone else, no commit becomes durable`(
    _ rest: Rest, _ mishap: Mishap
  ) throws {
    let log = try bench.open().log
    let next = try replacement(of: log)
    let position = try begin(rest, in: log)
    try happen(mishap)
    #expect(faultKind { try log.flush(through: position, durable: true) } == .fileMoved)
    #expect(faultKind { try next.replace(log) } == .fileMoved)
    #expect(faultKind { _ = try log.writer.beginTransaction() } == .fileMoved)
    next.discard()
    log.close()
  }

  @Test(arguments: Rest.allCases, Mishap.allCases)
  func `a lost name is still noticed after the rename of a compaction has failed`(
    _ rest: Rest, _ mishap: Mishap
  ) throws {
    let log = try bench.open().log
    let next = try replacement(of: log)
    bench.volume.plan.withLock { $0.failsRename = true }
    #expect(faultKind { try next.replace(log) } == .inputOutput)
    next.discard()
    try log.flush(through: try begin(rest, in: log), durable: true)
    let position = try begin(rest, in: log)
    try happen(mishap)
    #expect(faultKind { try log.flush(through: position, durable: true) } == .fileMoved)
    log.close()
  }

  @Test(arguments: Rest.allCases, Mishap.allCases)
  func `a file that replaced another notices when it loses its name`(_ rest: Rest, _ mishap: Mishap) throws {
    let log = try bench.open().log
    let next = try replacement(of: log)
    try next.replace(log)
    let position = try begin(rest, in: next)
    try happen(mishap)
    #expect(faultKind { try next.flush(through: position, durable: true) } == .fileMoved)
    log.close()
    next.close()
  }
}
