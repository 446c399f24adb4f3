import LatewoodBytes
import Testing

@testable import LatewoodFile

/// A replay that fails leaves nothing behind: the collected parts of its transaction are not
/// applied with another one.
@Suite struct ReplayFailureTests {
  let bench: LogBench

  init() throws { bench = try LogBench() }

  /// Commits a transaction in several frames.
  private func commitLong(_ name: String, to log: DatabaseFile) throws {
    _ = try log.writer.beginTransaction()
    for part in 0..<12 { try log.put("\(name)\(part)", [UInt8](repeating: 1, count: 900_000)) }
    try log.flush(through: log.writer.commitTransaction(), durable: false)
  }

  @Test(arguments: [0, 5, 11])
  func `a refresh that fails partway applies everything once when it is repeated`(
    _ failing: Int
  ) throws {
    let log = try bench.open().log
    let reader = try bench.open(readOnly: true).log
    try commitLong("a", to: log)
    var count = 0
    #expect(
      faultKind {
        _ = try reader.refresh { (_, _, _) throws(StorageError) in
          if count == failing { throw StorageError(.outOfSpace, "no memory for it") }
          count += 1
        }
      } == .outOfSpace)
    var applied: [UInt64] = []
    let outcome = try reader.refresh { (_, offset, _) throws(StorageError) in applied.append(offset) }
    #expect(outcome == .advanced)
    #expect(applied.count == 12, "operations were applied twice")
    #expect(Set(applied).count == applied.count)
    reader.close()
    log.close()
  }

  @Test func `a recovery that fails partway leaves nothing for the next transaction`() throws {
    let log = try bench.open().log
    try commitLong("a", to: log)
    log.close()
    let reader = try DatabaseFile.open(
      on: bench.volume, path: bench.path, readOnly: true, environment: bench.environment)
    #expect(
      faultKind {
        _ = try reader.recover { (_, _, _) throws(StorageError) in
          throw StorageError(.outOfSpace, "no memory for it")
        }
      } == .outOfSpace)
    var applied: [UInt64] = []
    _ = try reader.refresh { (_, offset, _) throws(StorageError) in applied.append(offset) }
    #expect(applied.count == 12 && Set(applied).count == 12)
    reader.close()
  }
}
