import Dispatch
import LatewoodConcurrency
import Testing

/// Runs `body` `count` times in parallel, each on a separate queue (and so a separate thread), and
/// waits for all. Errors are recorded as issues.
package func inParallel(
  _ count: Int, sourceLocation: SourceLocation = #_sourceLocation,
  _ body: @escaping @Sendable (Int) throws -> Void
) {
  let group = DispatchGroup()
  let failures = Guarded<[String]>([])
  for index in 0..<count {
    DispatchQueue(label: "test.\(index)").async(group: group) {
      do {
        try body(index)
      } catch {
        failures.withLock { $0.append("thread \(index): \(error)") }
      }
    }
  }
  group.wait()
  for failure in failures.withLock({ $0 }) { Issue.record("\(failure)", sourceLocation: sourceLocation) }
}
