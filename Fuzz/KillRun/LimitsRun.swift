import LatewoodConcurrency
import LatewoodDevice
import LatewoodTerminal

/// Children with limits on system resources: files, address space, length of a file. They must
/// report failures with a typed error, and must not lose anything that they acknowledged.
struct LimitsRun {
  /// A limit, as a shell sets it, and the permitted ends of a child under it.
  private struct Limit {
    var commands: String
    /// The allowed codes of errors; "" if the child may continue until it is killed.
    var codes: Set<String>
  }

  private static let limits = [
    // The system sends a signal to a process that writes too far, and ends it unless the signal is
    // ignored. A library cannot find the limit by trying.
    Limit(commands: "ulimit -f 30000; trap '' XFSZ", codes: ["outOfSpace"]),
    Limit(commands: "ulimit -f 30000", codes: ["outOfSpace"]),
    Limit(commands: "ulimit -n 20", codes: ["", "inputOutput"]),
    Limit(commands: "ulimit -n 8", codes: ["", "inputOutput"]),
    Limit(commands: "ulimit -n 6", codes: ["", "inputOutput"]),
    Limit(commands: "ulimit -n 5", codes: ["", "inputOutput", "store"]),
    Limit(commands: "ulimit -v 8000000", codes: ["", "outOfMemory"]),
    Limit(commands: "ulimit -v 2500000", codes: ["", "outOfMemory"]),
    Limit(commands: "ulimit -v 1000000", codes: ["", "outOfMemory"]),
  ]

  static func run() throws {
    let directory = try Directories.makeTemporary("latewood-limits")
    for (index, limit) in limits.enumerated() {
      let place = "\(directory)/\(index)"
      try Directories.make(place)
      let path = "\(place)/\(Subject.fileName)"
      try Subject.entries.prepare(path)
      var known = KnownState(of: .entries)
      var lines = ChildLines(after: known.last)
      let program = try CurrentProcess.executablePath()
      let child = try ChildProcess(
        "/bin/sh", arguments: ["-c", "\(limit.commands); exec '\(program)' quiet entries '\(path)' 1"])
      let end = MonotonicClock.nanoseconds + 5_000_000_000
      do {
        while MonotonicClock.nanoseconds < end, lines.failure == nil, !lines.isAtEnd {
          try lines.readWhatIsThere(from: child)
          // Long enough to reach the limit, if it can be reached at all.
          if limit.codes.contains(""), lines.durable[0] > 200 { break }
          Monitor.sleep(milliseconds: 2)
        }
        try child.kill()
        try lines.read(from: child, until: nil)
      } catch {
        try child.kill()
        throw error
      }
      let signal = try child.waitForEnd().signal
      let isExpected: Bool
      if let failure = lines.failureCode {
        isExpected = limit.codes.contains(failure)
      } else {
        isExpected = signal == Signals.kill && limit.codes.contains("")
      }
      let ending = lines.failure ?? signal.map { "signal \($0)" } ?? "its own end"
      guard isExpected else {
        throw Failure("\(limit.commands): the child ended with \(ending), \(directory)")
      }
      let allowed = zip(lines.durable, lines.greatest).map { $0.0...$0.1 }
      _ = try known.check(path, allowed: allowed, isReadOnly: false)
      Main.say("\(limit.commands): \(lines.durable) acknowledged; \(lines.failureCode ?? ending)")
    }
    try runLarge("ulimit -v 1048576", in: directory)
    try Directories.removeTree(directory)
    Main.say(
      "KillRun: \(limits.count + 1) limits, each met with a typed error or not at all; none lost, none half")
  }

  /// Runs a child that stays within the limits.
  private static func runLarge(_ commands: String, in directory: String) throws {
    let program = try CurrentProcess.executablePath()
    let child = try ChildProcess(
      "/bin/sh", arguments: ["-c", "\(commands); exec '\(program)' large '\(directory)/large.latewood'"])
    let status = try child.wait()
    guard status == 0 else {
      throw Failure("\(commands): a store of 100 MiB ended with \(status.map(String.init) ?? "a signal")")
    }
    Main.say("\(commands): a store of 100 MiB was opened, written, compacted and opened again")
  }
}
