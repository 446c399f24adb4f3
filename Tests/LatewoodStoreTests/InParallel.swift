import Dispatch
import LatewoodDevice
import Testing

/// Runs the body so many times at once, each on a queue (and so a thread) of its own, and waits for
/// all. What they throw are issues.
func inParallel(
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

/// Something that must hold and does not, on a thread where nothing can be expected.
struct Wrong: Error {
  let what: String
  init(_ what: String) { self.what = what }
}

/// Counts down; threads that work until others are done ask it.
final class Countdown: Sendable {
  private let rest: Guarded<Int>
  init(_ count: Int) { rest = Guarded(count) }
  func oneIsDone() { rest.withLock { $0 -= 1 } }
  var isOver: Bool { rest.withLock { $0 <= 0 } }
}
