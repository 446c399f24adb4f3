import Foundation

/// Compares a typed collection with a table of GRDB: the same `Codable` values, one index by two
/// members, durability that does not wait for the disk. See `Benchmarks/README.md`.
@main
enum GRDBBenchmark {
  private static let usage = """
    usage: GRDBBenchmark [--count 100000] [--rounds 5] [--dir DIRECTORY]
    The directory is emptied. Prints microseconds of processor time of the whole process for each
    operation, medians of the rounds, in which both stores run in turn, and bytes on the disk.
    """

  static func main() throws {
    var words = CommandLine.arguments.dropFirst()
    var (count, rounds, directory) = (100_000, 5, ".build-peers/grdb")
    while let name = words.popFirst() {
      guard let value = words.popFirst() else { return refuse() }
      switch (name, Int(value)) {
      case ("--count", let number?) where (1000...10_000_000).contains(number): count = number
      case ("--rounds", let number?) where (1...1000).contains(number): rounds = number
      case ("--dir", _): directory = value
      default: return refuse()
      }
    }
    let people = (0..<count).map { Person(number: $0) }
    var (latewood, grdb) = (Figures(), Figures())
    for round in 0..<rounds {
      // The store that runs first finds the machine in another state, so they take turns.
      if round % 2 == 0 {
        try latewood.measure(PeopleInLatewood.self, people, in: directory)
        try grdb.measure(PeopleInGRDB.self, people, in: directory)
      } else {
        try grdb.measure(PeopleInGRDB.self, people, in: directory)
        try latewood.measure(PeopleInLatewood.self, people, in: directory)
      }
    }
    guard latewood.answers == grdb.answers else {
      print("the stores differ: \(latewood.answers) and \(grdb.answers)")
      exit(1)
    }
    print(line("\(count) people, \(rounds) rounds", "Latewood", "GRDB", "ratio"))
    for name in latewood.order {
      let (ours, theirs) = (latewood.median(name), grdb.median(name))
      print(line(name, text(ours), text(theirs), text(theirs / ours)))
    }
  }

  private static func refuse() {
    print(usage)
    exit(2)
  }

  private static func text(_ number: Double) -> String {
    String(format: number < 10 ? "%.2f" : "%.0f", number)
  }

  private static func line(_ name: String, _ columns: String...) -> String {
    let width = 34
    return name + String(repeating: " ", count: max(1, width - name.count))
      + columns.map { String(repeating: " ", count: max(1, 10 - $0.count)) + $0 }.joined()
  }
}

/// What one store needed, by row: one figure for each round.
struct Figures {
  private(set) var order: [String] = []
  private(set) var values: [String: [Double]] = [:]
  /// What the store answered, so that both can be compared.
  private(set) var answers: [Int] = []

  func median(_ name: String) -> Double {
    let sorted = (values[name] ?? []).sorted()
    return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
  }

  mutating func measure<Store: PeopleStore>(_ type: Store.Type, _ people: [Person], in directory: String)
    throws
  {
    try? FileManager.default.removeItem(atPath: directory)
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let store = try Store(directory: directory)
    let batches = stride(from: 0, to: people.count, by: 1000).map {
      Array(people[$0..<min($0 + 1000, people.count)])
    }
    // A sequence that visits people in no order, but each once.
    let visits = (0..<people.count).map { people[$0 * 7919 % people.count].id }
    answers = []

    try time("insert in batches of 1,000", people.count) { for batch in batches { try store.insert(batch) } }
    answers.append(
      try time("get by id", visits.count) {
        try visits.reduce(0) { $0 + (try store.person($1)?.age ?? -1000) }
      })
    answers.append(
      try time("20 of a query by the index", 2000) {
        try (0..<2000).reduce(0) { $0 + (try store.people(in: Person.city($1), from: 20, limit: 20).count) }
      })
    answers.append(
      try time("count by the index", 2000) {
        try (0..<2000).reduce(0) { $0 + (try store.count(in: Person.city($1))) }
      })
    // Three in ten.
    answers.append(
      try time("decode each of three in ten", people.count * 3 / 10) { try store.people(to: 26).count })
    try time("update, each by itself", 2000) { for id in visits.prefix(2000) { try store.growOlder(id) } }
    try time("update in batches of 1,000", people.count) {
      for batch in batches { try store.growOlder(batch.map(\.id)) }
    }
    try store.compact()
    try store.close()
    add("bytes on the disk for each", Double(bytes(in: directory)) / Double(people.count))
    let reopened = try Store(directory: directory)
    try time("delete in batches of 1,000", people.count) {
      for batch in batches { try reopened.delete(batch.map(\.id)) }
    }
    answers.append(try reopened.people(to: .max).count)
    try reopened.close()
  }

  @discardableResult
  private mutating func time<Result>(_ name: String, _ operations: Int, _ body: () throws -> Result) rethrows
    -> Result
  {
    let start = processorTime()
    let result = try body()
    add(name, (processorTime() - start) / Double(operations))
    return result
  }

  private mutating func add(_ name: String, _ value: Double) {
    if values[name] == nil { order.append(name) }
    values[name, default: []].append(value)
  }

  /// The processor time of this process with all its threads, in microseconds.
  private func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
  }

  /// The bytes of the files in a directory that the disk holds.
  private func bytes(in directory: String) -> Int {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return names.reduce(0) { sum, name in
      var status = stat()
      return stat("\(directory)/\(name)", &status) == 0 ? sum + Int(status.st_blocks) * 512 : sum
    }
  }
}
