import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import LatewoodTerminal

/// The parent's side of writing to a failing disk: a child writes until a write or sync fails, and
/// must report that. Another child opens the content that the cache still shows, and continues.
/// Then the file system is mounted anew, so that only the contents of the disk count.
struct DiskRun {
  struct Counts {
    var failures: [String: Int] = [:]
    /// The number of times that the second child could not open the database or write to it.
    var refusals = 0
    var acknowledged = 0
    var withReader = 0
  }

  private let disk: SmallDisk
  let seed: UInt64
  private(set) var counts = Counts()
  private var random: SeededRandom
  /// The events of this round.
  private var story: [String] = []

  init(_ disk: SmallDisk, seed: UInt64) {
    self.disk = disk
    self.seed = seed
    random = SeededRandom(seed: seed)
  }

  mutating func run(_ count: Int) throws {
    for round in 0..<count {
      let subject = random.oneIn(4) ? Subject.documents : .entries
      do { try once(subject) } catch let reason as Skipped { throw reason } catch {
        throw Failure(
          "round \(round) of seed \(seed), \(subject), \(story.joined(separator: ", ")): \(error)")
      }
    }
  }

  private mutating func once(_ subject: Subject) throws {
    story = []
    try disk.renew()
    let path = "\(disk.directory)/\(Subject.fileName)"
    try subject.prepare(path)
    var known = KnownState(of: subject)
    var lines = ChildLines(after: known.last)
    // A process that has mapped the end of the log keeps its pages in the cache.
    let reader = random.oneIn(2) ? try ChildProcess(executable(), arguments: ["reader", path]) : nil
    if reader != nil {
      counts.withReader += 1
      story.append("reader")
    }
    var isReaderRunning = reader != nil
    defer { if isReaderRunning { end(reader) } }
    _ = try reader?.output.readLine()
    try disk.fill(leaving: 4096 * random.below(1200))
    try write(subject, path, &lines, milliseconds: 4000)
    counts.failures[lines.failureCode ?? "none", default: 0] += 1
    if !random.oneIn(4) {
      story.append("room")
      try disk.makeRoom()
    }
    lines.expectNewChild()
    try write(subject, path, &lines, milliseconds: UInt64(random.below(200)))
    if lines.failure != nil { counts.refusals += 1 }
    if isReaderRunning { end(reader) }
    isReaderRunning = false
    try disk.unmountDisk()
    try disk.makeRoom()
    try disk.mount()
    let allowed = zip(lines.durable, lines.greatest).map { $0.0...$0.1 }
    _ = try known.check(path, allowed: allowed, isReadOnly: false)
    counts.acknowledged += lines.acknowledged.reduce(0, +)
  }

  /// Lets a child write until it fails, or until a time limit.
  private mutating func write(
    _ subject: Subject, _ path: String, _ lines: inout ChildLines, milliseconds: UInt64
  ) throws {
    let mode = random.oneIn(2) ? "child" : "quiet"
    let child = try ChildProcess(
      executable(), arguments: [mode, subject.rawValue, path, "\(random.next())"])
    let limit = MonotonicClock.nanoseconds + milliseconds * 1_000_000
    do {
      while MonotonicClock.nanoseconds < limit, lines.failure == nil {
        try lines.readWhatIsThere(from: child)
        if lines.isAtEnd { break }
        Monitor.sleep(milliseconds: 2)
      }
      try child.kill()
      try lines.read(from: child, until: nil)
    } catch {
      end(child)
      throw error
    }
    let end = try child.waitForEnd()
    story.append("\(mode) \(lines.durable) \(lines.acknowledged) \(lines.failure ?? "")")
    if let failure = lines.failure {
      guard let code = lines.failureCode, DiskRun.expected.contains(code) else {
        throw Failure("the child failed: \(failure)")
      }
    } else if let signal = end.signal, signal != Signals.kill {
      throw Failure("signal \(signal) ended the child")
    } else if let status = end.status {
      throw Failure("the child ended by itself with \(status)")
    }
  }

  /// The codes of the errors that a child may report while the disk fails. Among them is `damaged`:
  /// a block that could not be written counts as clean in the cache of the system, which may drop
  /// it and read the old one from the disk. What was durable is checked after the file system has
  /// been mounted anew.
  private static let expected = [
    "inputOutput", "outOfSpace", "poisoned", "readOnlyMedia", "store", "damaged",
  ]

  private func executable() throws -> String { try CurrentProcess.executablePath() }

  private func end(_ reader: ChildProcess?) {
    do {
      try reader?.kill()
      _ = try reader?.wait()
    } catch {
      // The file system has already been unmounted.
    }
  }
}
