/// Runs one group of workloads on one peer and prints the figures as CSV, as `LatewoodBenchmark`
/// does. The workloads are the same source files, compiled into both programs, so that they are
/// specialized for each engine.
@main
enum PeerBenchmark {
  static func main() {
    do {
      let arguments = Array(CommandLine.arguments.dropFirst())
      if arguments == ["--engines"] {
        for engine in PeerEngines.built { Process.printLine("\(engine.name) \(engine.version)") }
        Process.end(0)
      }
      let options = try BenchmarkOptions(arguments)
      if options.asksForHelp {
        Process.printLine(BenchmarkOptions.usage)
        Process.end(0)
      }
      let isSound = try options.group == "vectors" ? TestVectors.hold() : PeerEngines.run(options)
      Process.end(isSound ? 0 : 1)
    } catch {
      Process.printError("\(error)")
      Process.end(2)
    }
  }
}

extension BenchmarkOptions {
  static let usage = """
    usage: PeerBenchmark --group GROUP --engine ENGINE [--n 1000000] [--vsize 100] [--scale 1] [--rww 10]
                         [--dir DIRECTORY] [--round LABEL]
           PeerBenchmark --engines       prints the engines and the versions of their libraries
    groups: vectors, seq, rand, sync, ycsb, growth, readers, values, limited
    engines: \(PeerEngines.built.map(\.name).joined(separator: ", "))
    The directory is emptied.
    """
}
