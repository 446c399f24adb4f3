/// Runs one group of workloads on one engine and prints the figures as CSV. See
/// `Benchmarks/README.md`.
@main
enum LatewoodBenchmark {
  static func main() {
    do {
      let options = try BenchmarkOptions(Array(CommandLine.arguments.dropFirst()))
      if options.asksForHelp {
        Process.printLine(BenchmarkOptions.usage)
        Process.end(0)
      }
      let isSound = options.group == "vectors" ? TestVectors.hold() : try run(options)
      Process.end(isSound ? 0 : 1)
    } catch {
      Process.printError("\(error)")
      Process.end(2)
    }
  }

  private static func run(_ options: BenchmarkOptions) throws -> Bool {
    switch options.engine {
    case LatewoodEngine.name, "": try run(Run<LatewoodEngine>(options)) { try $0.extraGroup(options.group) }
    case NullEngine.name: try run(Run<NullEngine>(options)) { _ in false }
    case SortedEngine.name: try run(Run<SortedEngine>(options)) { _ in false }
    default: throw BenchmarkFailure("there is no engine \(options.engine)\n\(BenchmarkOptions.usage)")
    }
  }

  /// - Parameter extra: runs groups that only some engines have; returns false for an unknown
  ///   group.
  private static func run<Engine>(_ run: Run<Engine>, extra: (Run<Engine>) throws -> Bool) throws -> Bool {
    let group = run.options.group
    if !ExtraPart.isInside(group), group != "instructions" { run.report.figure(group, "load1", Process.load) }
    guard try run.commonGroup(group) || extra(run) else {
      throw BenchmarkFailure("\(Engine.name) has no group \(group)\n\(BenchmarkOptions.usage)")
    }
    // Processes that `extra` starts clean up after themselves.
    if !ExtraPart.leavesFiles(group) { run.options.directory.makeEmpty() }
    return run.report.isSound
  }
}

extension BenchmarkOptions {
  static let usage = """
    usage: LatewoodBenchmark --group GROUP [--engine latewood|null|sorted] [--n 1000000] [--vsize 100] [--scale 1]
                             [--rww 10] [--dir DIRECTORY] [--round LABEL]
                             [--rounds 50] [--whole 1] [--budget 64] [--operation NAME] [--omit 0]
    groups: vectors, seq, rand, sync, ycsb, growth, readers, values, limited, bounded, documents, queries, blob,
            snapshots, keyspaces, instructions, extra; parts of extra alone: \(ExtraPart.names)
    The directory is emptied.
    """
}
