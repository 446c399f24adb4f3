import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import Testing

@testable import LatewoodStore

/// Waiting for a running compaction, and the callers that receive its failure.
@Suite struct CompactionControlTests {
  private static let full = StorageError(.outOfSpace, "the disk is full")

  /// Begins a run, lets another thread request a compaction, and ends the run with `result`.
  /// Returns the outcome for the other thread.
  private static func outcome(
    isAutomatic: Bool, _ result: Result<CompactionReport, StorageError>
  ) throws -> Result<CompactionReport?, StorageError> {
    let control = CompactionControl()
    #expect(try control.begin(joins: true, isAutomatic: isAutomatic, unless: { false }) == nil)
    let other = Guarded<Result<CompactionReport?, StorageError>?>(nil)
    let (asked, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    DispatchQueue(label: "test.asks").async {
      let got = Result { () throws(StorageError) in
        try control.begin(joins: true) {
          asked.signal()
          return false
        }
      }
      other.withLock { $0 = got }
      done.signal()
    }
    // The request is made under the lock that `end` needs, so the other thread is already waiting
    // when the run ends.
    asked.wait()
    control.end(result)
    done.wait()
    return try #require(other.withLock { $0 })
  }

  @Test func `a request during a compaction gets the report of the running one`() throws {
    var report = CompactionReport()
    report.bytesBefore = 17
    for isAutomatic in [false, true] {
      let got = try Self.outcome(isAutomatic: isAutomatic, .success(report)).get()
      #expect(got == report)
    }
  }

  @Test func `the failure of an automatic compaction is not reported to a later request`() throws {
    #expect(try Self.outcome(isAutomatic: true, .failure(Self.full)).get() == nil)
    #expect(throws: Self.full) { try Self.outcome(isAutomatic: false, .failure(Self.full)).get() }
    let cancelled = CompactionControl.cancelled
    #expect(throws: cancelled) { try Self.outcome(isAutomatic: true, .failure(cancelled)).get() }
  }
}
