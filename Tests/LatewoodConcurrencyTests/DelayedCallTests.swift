import Dispatch
import LatewoodConcurrency
import Testing

@Suite struct DelayedCallTests {
  private final class Object: Sendable {}

  @Test func `a call is made each time that it is set`() {
    let made = DispatchSemaphore(value: 0)
    let call = DelayedCall { made.signal() }
    for delay: UInt64 in [0, 1, 1_000_000] {
      call.set(afterNanoseconds: delay)
      made.wait()
    }
    call.setByWallClock(afterMicroseconds: 1)
    made.wait()
  }

  @Test func `an earlier time replaces a later one`() {
    let made = DispatchSemaphore(value: 0)
    let call = DelayedCall { made.signal() }
    call.set(afterNanoseconds: .max)
    call.set(afterNanoseconds: 0)
    made.wait()
  }

  @Test func `what a call refers to is released with the call, long before its time`() {
    weak var kept: Object?
    do {
      let object = Object()
      kept = object
      let call = DelayedCall { withExtendedLifetime(object) {} }
      call.set(afterNanoseconds: 3_600_000_000_000)
      call.setByWallClock(afterMicroseconds: 3_600_000_000)
    }
    #expect(kept == nil)
  }

  @Test func `a call may release itself`() {
    let made = DispatchSemaphore(value: 0)
    let owner = Guarded<DelayedCall?>(nil)
    let call = DelayedCall {
      owner.withLock { $0 = nil }
      made.signal()
    }
    owner.withLock { $0 = call }
    call.set(afterNanoseconds: 0)
    made.wait()
  }
}
