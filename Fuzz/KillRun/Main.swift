import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import LatewoodTerminal

/// Kills processes that write and compact, at random moments, again and again, and checks the
/// remaining files: everything acknowledged must exist, nothing may be incomplete, and no other
/// files may remain.
@main enum Main {
  private static let usage = """
    usage: KillRun COUNT [SEED]         kills of the process
           KillRun cuts COUNT [SEED]    power cuts of an ext4 file system
           KillRun disks COUNT [SEED]   disks that fail to write
           KillRun limits               resources that the system limits
           KillRun forks                forks with the database open
           KillRun full                 full disks that are freed by deleting
    """

  private enum Kind: String {
    case cuts
    case disks
  }

  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
      if arguments.first == "child" || arguments.first == "quiet" { return try runChild(arguments) }
      if arguments.first == "reader", arguments.count == 2 { return try Child.read(arguments[1]) }
      if arguments.first == "large", arguments.count == 2 { return try LargeStore.run(arguments[1]) }
      ChildEnvironment.endWithoutBacktrace()
      if arguments == ["limits"] { return try LimitsRun.run() }
      if arguments == ["forks"] { return try ForkRun.run() }
      if arguments == ["full"] { return try FullRun.run() }
      let kind = arguments.first.flatMap { Kind(rawValue: $0) }
      let numbers = kind == nil ? arguments : Array(arguments.dropFirst())
      guard (1...2).contains(numbers.count), let count = Int(numbers[0]), count > 0 else {
        fail(usage, status: 2)
      }
      guard let seed = numbers.count > 1 ? UInt64(numbers[1]) : SeededRandom.seed() else {
        fail("the seed must be a number", status: 2)
      }
      switch kind {
      case .cuts: try cut(count, seed)
      case .disks: try failDisks(count, seed)
      case nil: try kill(count, seed)
      }
    } catch {
      fail("\(error)")
    }
  }

  private static func runChild(_ arguments: [String]) throws {
    guard arguments.count == 4, let subject = Subject(rawValue: arguments[1]), let seed = UInt64(arguments[3])
    else { fail(usage, status: 2) }
    try Child.run(subject, arguments[2], seed: seed, keepsUp: arguments[0] == "child")
  }

  private static func kill(_ count: Int, _ seed: UInt64) throws {
    let directory = try Directories.makeTemporary("latewood-kill")
    var run = Run(OrdinaryStage(directory), seed: seed)
    try run.run(count)
    try Directories.removeTree(directory)
    report("\(count) kills", run)
  }

  /// A machine that does not support it is reported and counted, but does not count as a failure.
  private static func cut(_ count: Int, _ seed: UInt64) throws {
    do {
      let stage = try PowerStage()
      var run = Run(stage, seed: seed)
      do { try run.run(count) } catch {
        // The images stay for examination.
        try stage.unmount()
        throw error
      }
      try stage.remove()
      report("\(count) power cuts, \(stage.cacheLosses) with the cache of the disk", run)
    } catch let reason as Skipped {
      say("KillRun: SKIPPED: 0 of \(count) power cuts, \(count) not tried: \(reason)")
    }
  }

  private static func failDisks(_ count: Int, _ seed: UInt64) throws {
    do {
      let disk = try SmallDisk()
      var run = DiskRun(disk, seed: seed)
      do { try run.run(count) } catch {
        try disk.remove()
        throw error
      }
      try disk.remove()
      let counts = run.counts
      let failures = counts.failures.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
      say(
        "KillRun: \(count) failing disks (\(failures.joined(separator: ", "))), \(counts.withReader) with a reader beside, "
          + "\(counts.refusals) still failing when opened again; \(counts.acknowledged) transactions acknowledged, none lost, none half; "
          + "seed \(seed)")
    } catch let reason as Skipped {
      say("KillRun: SKIPPED: 0 of \(count) failing disks, \(count) not tried: \(reason)")
    }
  }

  static func report(_ what: String, _ run: Run) {
    let counts = run.counts
    say(
      "KillRun: \(what) (\(counts.atCheckpoints) at a checkpoint, \(counts.nearRenames) close to a compaction's rename, "
        + "\(counts.inCompactions) left its new file, \(counts.tornTails) a torn tail); \(counts.acknowledged) transactions acknowledged, "
        + "none lost, none half; \(counts.busErrors) ended by SIGBUS; seed \(run.seed)")
  }

  static func say(_ text: String) {
    let streams = StandardStreams()
    streams.output.write(text + "\n")
    streams.output.flush()
  }

  static func fail(_ reason: String, status: Int32 = 1) -> Never {
    let streams = StandardStreams()
    streams.error.write("KillRun: \(reason)\n")
    streams.error.flush()
    CurrentProcess.exit(status)
  }
}
