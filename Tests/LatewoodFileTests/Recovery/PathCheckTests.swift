import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodFile

/// The detection of files that are no longer at their path.
@Suite struct PathCheckTests {
  private let path: String
  private let volume = FileVolume()
  private let now = Guarded<UInt64>(5_000_000_000)
  private let directory: TemporaryDirectory
  private let check: PathCheck

  init() throws {
    directory = try TemporaryDirectory()
    path = directory("file")
    let device = try volume.open(path, .createExclusive(permissions: 0o600))
    check = PathCheck(device, clock: { [now] in now.withLock { $0 } })
  }

  private func wait(_ nanoseconds: UInt64) { now.withLock { $0 += nanoseconds } }

  @Test func `a file at its path is not reported as lost`() throws {
    for _ in 0..<5 {
      #expect(try !check.isKnownLost())
      wait(PathCheck.interval / 2)
    }
    #expect(try !check.isLost())
  }

  @Test func `a removed file is noticed once the last lookup is too old`() throws {
    #expect(try !check.isKnownLost())
    try volume.remove(path)
    wait(PathCheck.interval - 1)
    #expect(try !check.isKnownLost())
    wait(1)
    #expect(try check.isKnownLost())
  }

  @Test func `a check that relies on the last lookup does not renew it`() throws {
    #expect(try !check.isKnownLost())
    wait(PathCheck.interval - 1)
    #expect(try !check.isKnownLost())
    try volume.rename(path, to: directory("aside"))
    wait(1)
    #expect(try check.isKnownLost())
  }

  @Test func `a thorough check looks up the path, however recent the last lookup`() throws {
    #expect(try !check.isKnownLost())
    try volume.rename(path, to: directory("aside"))
    #expect(try check.isLost())
  }

  @Test func `the first check looks up the path`() throws {
    try volume.rename(path, to: directory("aside"))
    #expect(try check.isKnownLost())
  }
}
