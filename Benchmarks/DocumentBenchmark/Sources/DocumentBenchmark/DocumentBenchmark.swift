import Foundation

/// Measures the public product of documents, and SQLite beside it where that says something. See
/// `Benchmarks/README.md`.
@main
enum DocumentBenchmark {
  private static let usage = """
    usage: DocumentBenchmark saves [--count 1000] [--rounds 5] [--dir DIRECTORY]
           DocumentBenchmark gets [--count 100000] [--rounds 5] [--dir DIRECTORY]
    The directory is emptied.
    """

  static func main() throws {
    var words = CommandLine.arguments.dropFirst()
    guard let workload = words.popFirst(), ["saves", "gets"].contains(workload) else { return refuse() }
    var count = workload == "saves" ? 1000 : 100_000
    var rounds = 5
    var directory = ".build-peers/documents"
    while let name = words.popFirst() {
      guard let value = words.popFirst() else { return refuse() }
      switch (name, Int(value)) {
      case ("--count", let number?) where (1...10_000_000).contains(number): count = number
      case ("--rounds", let number?) where (1...1000).contains(number): rounds = number
      case ("--dir", _): directory = value
      default: return refuse()
      }
    }
    let run = Run(count: count, rounds: rounds, directory: directory)
    let isEnough = try workload == "saves" ? run.saves() : run.gets()
    if !isEnough { exit(1) }
  }

  private static func refuse() {
    print(usage)
    exit(2)
  }
}
