import Latewood
import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import Testing

/// Opens with `Configuration.lockTimeout` while another process, for which a lock stands here, has
/// the database open for writing.
@Suite struct DatabaseLockTimeoutTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private var patient: Database.Configuration {
    var configuration = Database.Configuration()
    configuration.lockTimeout = .seconds(Patience.seconds)
    return configuration
  }

  @Test func `an open waits until the other one has closed the database`() async throws {
    let lock = try FileVolume().lockForWriting(directory.file)
    async let database = Database.open(at: directory.file, configuration: patient)
    try await Task.sleep(for: .milliseconds(20))
    lock.unlock()
    let opened = try await database
    try await opened.defaultCollection.save(MutableDocument(id: "a"))
    try await opened.close()
  }

  @Test func `an open whose task is cancelled stops waiting`() async throws {
    let lock = try FileVolume().lockForWriting(directory.file)
    let (path, configuration) = (directory.file, patient)
    for pause in [0, 1, 30] {
      let opening = Task { try await Database.open(at: path, configuration: configuration) }
      try await Task.sleep(for: .milliseconds(pause))
      opening.cancel()
      await #expect(throws: CancellationError.self) { _ = try await opening.value }
    }
    lock.unlock()
    // Nothing is left of them.
    try await Database.open(at: path, configuration: configuration).close()
  }

  @Test func `while one open waits, others of the process wait no longer than they want to`() async throws {
    let lock = try FileVolume().lockForWriting(directory.file)
    let (path, configuration) = (directory.file, patient)
    let first = Task { try await Database.open(at: path, configuration: configuration) }
    try await Task.sleep(for: .milliseconds(30))
    refusal(.busy) { _ = try Database.open(at: path) }
    var brief = Database.Configuration()
    brief.lockTimeout = .milliseconds(20)
    let error = refusal(.busy) { _ = try Database.open(at: path, configuration: brief) }
    #expect(error?.message.contains("0.02 seconds") == true)
    let second = Task { try await Database.open(at: path, configuration: configuration) }
    try await Task.sleep(for: .milliseconds(30))
    second.cancel()
    await #expect(throws: CancellationError.self) { _ = try await second.value }
    let third = Task { try await Database.open(at: path, configuration: configuration) }
    try await Task.sleep(for: .milliseconds(30))
    lock.unlock()
    let (one, other) = (try await first.value, try await third.value)
    try await one.defaultCollection.save(MutableDocument(id: "a"))
    #expect(try await other.defaultCollection.document("a") != nil)
    try await one.close()
    try await other.close()
  }
}
