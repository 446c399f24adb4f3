import LatewoodBytes
import LatewoodDevice
import Testing

@testable import LatewoodFile

/// File systems on which the write lock keeps readers out, because each `flock` is a lock on all
/// bytes: NFS, SMB.
@Suite struct OneLockTests {
  @Test(arguments: [false, true]) func `readers of this process can open beside its writer`(hasOneLock: Bool)
    throws
  {
    let bench = try LogBench()
    bench.volume.plan.withLock { $0.hasOneLock = hasOneLock }
    let log = try bench.open().log
    // The lock is kept if it does not keep readers out, because unlike the lock file it cannot be
    // removed.
    #expect(bench.volume.plan.withLock { $0.writing.isEmpty } == hasOneLock)
    try log.commit([("a", [1])])
    #expect(try !log.hasReaders())
    let reader = try bench.open(readOnly: true)
    #expect(reader.state.entries == ["a": [1]])
    #expect(try log.hasReaders())
    #expect(faultKind { _ = try bench.open() } == .lockedByThisProcess)
    reader.log.close()
    #expect(try !log.hasReaders())
    log.close()
  }

  @Test(arguments: [false, true]) func `readers of this process can open beside a file that replaced another`(
    hasOneLock: Bool
  )
    throws
  {
    let bench = try LogBench()
    bench.volume.plan.withLock { $0.hasOneLock = hasOneLock }
    let log = try bench.open().log
    let next = try log.createReplacement()
    _ = try next.recover { (_, _, _) throws(StorageError) in }
    try next.commit([("b", [2])])
    try next.replace(log)
    log.close()
    let reader = try bench.open(readOnly: true)
    #expect(reader.state.entries == ["b": [2]])
    reader.log.close()
    next.close()
  }
}
