import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodTerminal

/// Uses one database in all ways in parallel, for a given time, compared with a model. Prints one
/// line a minute; fails if memory or sizes have grown at the end.
///
/// usage: Soak SECONDS [SEED]
@main enum Main {
  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count == 2 || arguments.count == 3, let seconds = Int(arguments[1]), seconds > 0,
      let seed = arguments.count == 3 ? UInt64(arguments[2]) : UInt64.random(in: 0...UInt64.max)
    else { end("usage: Soak SECONDS [SEED]", status: 2) }
    do {
      let directory = try Directories.makeTemporary("latewood-soak")
      tell("Soak: \(seconds) s in \(directory), seed \(seed)")
      let run = try SoakRun(path: directory + "/db.latewood", seed: seed)
      run.start()
      let figures = try watch(run, seconds)
      try run.finish()
      let size = try SoakFigures.taken(of: run.path)
      var growth = SoakFigures.growth(in: figures)
      // Live documents and blobs take a few MiB.
      if size.fileSize > 64 << 20 {
        growth.append("the file has \(size.fileSize) bytes after a last compaction")
      }
      guard growth.isEmpty else { end("Soak: \(growth.joined(separator: "; ")); left in \(directory)") }
      tell("Soak: \(seconds) s, \(line(run, size)): as the model has it, nothing grew; seed \(seed)")
      try Directories.removeTree(directory)
    } catch {
      end("Soak: \(error); seed \(seed)")
    }
  }

  /// Records figures every second, and prints a line a minute.
  private static func watch(_ run: SoakRun, _ seconds: Int) throws -> [SoakFigures] {
    let start = MonotonicClock.nanoseconds
    var figures: [SoakFigures] = []
    while true {
      Monitor.sleep(milliseconds: 1000)
      let elapsed = Int((MonotonicClock.nanoseconds - start) / 1_000_000_000)
      if elapsed >= seconds || run.hasFailed { return figures }
      let now = try SoakFigures.taken(of: run.path)
      figures.append(now)
      if figures.count % 60 == 0 { tell("\(elapsed / 60) min: \(line(run, now))") }
    }
  }

  private static func line(_ run: SoakRun, _ figures: SoakFigures) -> String {
    let counts = run.counts.withLock { $0 }
    let memory = figures.memory.map { "\($0 >> 20) MiB" } ?? "?"
    let descriptors = figures.descriptors.map { "\($0)" } ?? "?"
    return "\(counts.batches) batches, \(counts.reads) reads, \(counts.states) states, "
      + "\(counts.snapshots) snapshots, \(counts.blobs) blobs, \(counts.upkeep) of upkeep; memory \(memory), "
      + "descriptors \(descriptors), file \(figures.fileSize >> 20) MiB, on disk \(figures.allocated >> 20) MiB"
  }

  private static func tell(_ text: String) {
    let streams = StandardStreams()
    streams.output.write(text + "\n")
    streams.output.flush()
  }

  private static func end(_ text: String, status: Int32 = 1) -> Never {
    let streams = StandardStreams()
    streams.error.write(text + "\n")
    streams.error.flush()
    CurrentProcess.exit(status)
  }
}
