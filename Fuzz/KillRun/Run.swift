import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import LatewoodTerminal

/// The parent's side: starts children, kills them at moments that the seed determines, and compares
/// their files with their acknowledgements.
struct Run {
  /// The moment at which a child is killed.
  fileprivate enum Moment: Int, CaseIterable {
    /// Possibly while the child opens the database.
    case opening
    case anyTime
    case checkpoint
    case rename
  }

  /// The counts of events so far.
  struct Counts {
    var ends = 0
    var atCheckpoints = 0
    var nearRenames = 0
    /// The number of times that the new file of a compaction was left behind.
    var inCompactions = 0
    var tornTails = 0
    var acknowledged = 0
    /// The number of children that the system ended because they read a mapping whose disk was
    /// gone.
    var busErrors = 0
  }

  /// The number of transactions after which a database is replaced by a new one, because a child
  /// first counts through all of them.
  private static let longest = 1500

  let stage: any Stage
  let seed: UInt64
  private(set) var counts = Counts()
  private var random: SeededRandom
  private var states: [Subject: KnownState] = [:]

  init(_ stage: any Stage, seed: UInt64) {
    self.stage = stage
    self.seed = seed
    random = SeededRandom(seed: seed)
  }

  private func directory(of subject: Subject) -> String { "\(stage.directory)/\(subject.rawValue)" }

  mutating func run(_ count: Int) throws {
    for end in 0..<count {
      let subject = random.oneIn(3) ? Subject.documents : .entries
      do {
        var known = try state(of: subject)
        try once(subject, &known)
        states[subject] = known
      } catch {
        throw Failure("end \(end) of seed \(seed), \(subject), left in \(stage.directory): \(error)")
      }
      counts.ends += 1
    }
  }

  /// Returns the known state of a subject's database, which is created if there is none.
  private mutating func state(of subject: Subject) throws -> KnownState {
    let directory = directory(of: subject)
    if let known = states[subject] {
      if known.last.max() ?? 0 < Run.longest { return known }
      try Directories.removeTree(directory)
    }
    try Directories.make(directory)
    try FileVolume().syncDirectory(containing: directory)
    try subject.prepare("\(directory)/\(Subject.fileName)")
    return KnownState(of: subject)
  }

  private mutating func once(_ subject: Subject, _ known: inout KnownState) throws {
    let path = "\(directory(of: subject))/\(Subject.fileName)"
    let moment = random.pick(Moment.allCases)
    let delay = UInt64(random.below(moment == .anyTime ? 60 : moment == .opening ? 6 : 4))
    let child = try ChildProcess(
      CurrentProcess.executablePath(),
      arguments: ["child", subject.rawValue, path, "\(random.next())"])
    var lines = ChildLines(after: known.last)
    do {
      if moment != .opening { try lines.read(from: child, until: moment.line) }
      Monitor.sleep(milliseconds: delay)
      try lines.readWhatIsThere(from: child)
      let before = lines.durable
      let isBelieved = try stage.strike(child, random.next())
      // Failures after the end of the file system are expected.
      if stage.losesUnsynced { Monitor.sleep(milliseconds: 1) }
      try child.kill()
      try lines.read(from: child, until: nil)
      if !isBelieved { lines.forget(after: before) }
      let end = try child.waitForEnd()
      try judge(lines, end.status, end.signal)
    } catch {
      try child.kill()
      throw error
    }
    try stage.restore()
    switch moment {
    case .checkpoint: counts.atCheckpoints += 1
    case .rename: counts.nearRenames += 1
    case .opening, .anyTime: break
    }
    counts.acknowledged += zip(lines.acknowledged, known.last).reduce(0) { $0 + $1.0 - $1.1 }
    try check(subject, path, lines, &known)
  }

  private mutating func judge(_ lines: ChildLines, _ status: Int32?, _ signal: Int32?) throws {
    if let signal, signal != Signals.kill {
      // The process has read a page that is not in memory, of a file whose disk is gone. The system
      // has no other way to report this to a process that reads a mapping.
      guard stage.losesUnsynced, signal == Signals.bus else {
        throw Failure("signal \(signal) ended the child")
      }
      counts.busErrors += 1
    }
    if let failure = lines.failure {
      let isExpected = stage.losesUnsynced && lines.failureCode.map { Run.expected.contains($0) } == true
      guard isExpected else { throw Failure("the child failed: \(failure)") }
    } else if let status {
      throw Failure("the child ended by itself with \(status)")
    }
  }

  /// The errors that calls may report when the disk is gone.
  private static let expected = ["inputOutput", "poisoned", "readOnlyMedia", "closed", "cancelled", "store"]

  private mutating func check(
    _ subject: Subject, _ path: String, _ lines: ChildLines, _ known: inout KnownState
  ) throws {
    if try Directories.names(in: directory(of: subject)).contains(where: { $0.hasSuffix(".compacting") }) {
      counts.inCompactions += 1
    }
    let least = stage.losesUnsynced ? lines.durable : lines.acknowledged
    // One transaction may have been committed and not yet acknowledged.
    let allowed = zip(least, lines.greatest).map { $0.0...$0.1 }
    let isReadOnly = random.oneIn(3)
    if try known.check(path, allowed: allowed, isReadOnly: isReadOnly) { counts.tornTails += 1 }
    if isReadOnly { return }
    let names = try Directories.names(in: directory(of: subject)).sorted()
    guard names == [Subject.fileName, "\(Subject.fileName).lock"] else {
      throw Failure("left over: \(names)")
    }
  }
}

extension Run.Moment {
  /// The line that the child prints at that moment.
  fileprivate var line: String? {
    switch self {
    case .opening: nil
    case .anyTime: ""
    case .checkpoint: "c"
    case .rename: "n"
    }
  }
}

/// The output of a child so far.
struct ChildLines {
  /// The newest transaction of each lane that was acknowledged, durable or not.
  private(set) var acknowledged: [Int]
  /// The newest transaction of each lane that was acknowledged as durable.
  private(set) var durable: [Int]
  private(set) var failure: String?
  private(set) var failureCode: String?

  /// Whether the end of the pipe has been reached.
  private(set) var isAtEnd = false
  /// The greatest number to which each lane may jump, because unacknowledged transactions may
  /// exist.
  private var leapLimit: [Int]
  /// The greatest number that each lane may have reached.
  private(set) var greatest: [Int]

  init(after last: [Int]) {
    acknowledged = last
    durable = last
    leapLimit = last
    greatest = last.map { $0 + 1 }
  }

  /// Prepares for another child that continues from this state.
  mutating func expectNewChild() {
    greatest = greatest.map { $0 + 1 }
    leapLimit = greatest
    acknowledged = durable
    isAtEnd = false
    failure = nil
    failureCode = nil
  }

  /// Reads lines to the end, or until a line equals `mark`; "" matches any line.
  mutating func read(from child: ChildProcess, until mark: String?) throws {
    while let bytes = try child.output.readLine() {
      let line = String(decoding: bytes, as: UTF8.self)
      try take(line)
      if let mark, mark.isEmpty || line == mark { return }
    }
    if mark != nil, failure == nil { throw Failure("the child ended before it said \(mark ?? "")") }
  }

  /// Reads the lines that the child has printed so far.
  mutating func readWhatIsThere(from child: ChildProcess) throws {
    while try child.output.hasMore() {
      guard let bytes = try child.output.readLine() else {
        isAtEnd = true
        return
      }
      try take(String(decoding: bytes, as: UTF8.self))
    }
  }

  /// Corrects the acknowledgements: later ones were not durable.
  mutating func forget(after durable: [Int]) { self.durable = durable }

  private mutating func take(_ line: String) throws {
    let words = line.split(separator: " ", maxSplits: 2)
    switch words.first {
    case "a", "r":
      guard words.count == 3, let lane = Int(words[1]), let number = Int(words[2]),
        acknowledged.indices.contains(lane),
        number > acknowledged[lane], number <= max(acknowledged[lane] + 1, leapLimit[lane])
      else { throw Failure("the child said \"\(line)\" after \(acknowledged)") }
      acknowledged[lane] = number
      leapLimit[lane] = 0
      greatest[lane] = max(greatest[lane], number + 1)
      if words[0] == "a" { durable[lane] = number }
    case "e":
      failureCode = words.count > 1 ? String(words[1]) : nil
      failure = line
    default: break
    }
  }
}
