import Foundation

/// Measures the public product of documents, compared with SQLite where that is useful. See
/// `Benchmarks/README.md`.
@main
enum DocumentBenchmark {
  private static let usage = """
    usage: DocumentBenchmark documents [--count 100000] [--rounds 5] [--dir DIRECTORY]
           DocumentBenchmark saves [--count 1000] [--rounds 5] [--dir DIRECTORY]
           DocumentBenchmark gets [--count 100000] [--rounds 5] [--dir DIRECTORY]
           DocumentBenchmark queries [--count 50000] [--rounds 5] [--dir DIRECTORY] [--only NAME]
           DocumentBenchmark films --data FILE[,FILE…] [--count 36000] [--rounds 5] [--dir DIRECTORY]
           DocumentBenchmark space [--count 300000] [--dir DIRECTORY]
           DocumentBenchmark texts [--count 200000] [--rounds 5] [--dir DIRECTORY] [--only NAME] [--data FILE[,FILE…]]
           DocumentBenchmark live [--count 100000] [--rounds 5] [--dir DIRECTORY]
    The directory is emptied. Films are JSON arrays of the data set prust/wikipedia-movie-data.
    """

  private static let usualCounts = [
    "documents": 100_000, "saves": 1000, "gets": 100_000, "queries": 50_000, "films": 36_000,
    "live": 100_000, "space": 300_000, "texts": 200_000,
  ]

  static func main() throws {
    var words = CommandLine.arguments.dropFirst()
    guard let workload = words.popFirst(), let usual = usualCounts[workload] else { return refuse() }
    var count = usual
    var rounds = 5
    var only: String?
    var data: [String] = []
    var directory = ".build-peers/documents"
    while let name = words.popFirst() {
      guard let value = words.popFirst() else { return refuse() }
      switch (name, Int(value)) {
      case ("--count", let number?) where (1...10_000_000).contains(number): count = number
      case ("--rounds", let number?) where (1...1000).contains(number): rounds = number
      case ("--dir", _): directory = value
      case ("--only", _): only = value
      case ("--data", _): data = value.split(separator: ",").map(String.init)
      default: return refuse()
      }
    }
    let run = Run(count: count, rounds: rounds, directory: directory, only: only)
    let isEnough =
      switch workload {
      case "documents": try run.documents()
      case "saves": try run.saves()
      case "gets": try run.gets()
      case "films": try run.films(data)
      case "live": try run.live()
      case "space": try run.space()
      case "texts": try run.texts(data)
      default: try run.queries()
      }
    if !isEnough { exit(1) }
  }

  private static func refuse() {
    print(usage)
    exit(2)
  }
}

/// Prints a line that appears immediately, even through a pipe.
func print(_ line: String) {
  Swift.print(line)
  fflush(nil)
}
