import Foundation

/// A row of the table: the same work for two engines, compared by the processor time of the
/// process.
struct ComparedWork<Engine> {
  var name: String
  /// The smallest ratio that passes; 0 for work without a goal.
  var goal = 0.0
  /// The number of operations in one run. Reported figures are for a single operation.
  var operations: Int
  var body: (Engine, _ operation: Int) throws -> Int
}

extension Run {
  /// Prints the medians of several rounds, in microseconds.
  ///
  /// - Parameter engines: Latewood and SQLite, which must give the same answers.
  /// - Returns: whether the goal is met.
  func measure<Engine>(_ work: ComparedWork<Engine>, _ engines: [Engine], rounds: Int) throws -> Bool {
    let (latewood, sqlite) = try medians(work, engines, rounds: rounds)
    let ratio = sqlite / latewood
    print(
      "\(work.name): \(shown(latewood)) µs, SQLite \(shown(sqlite)) µs, ratio \(shown(ratio)) (\(shown(work.goal)))"
    )
    return ratio >= work.goal
  }

  /// Returns the medians of the times of an operation, in microseconds.
  func medians<Engine>(
    _ work: ComparedWork<Engine>, _ engines: [Engine], rounds: Int
  ) throws -> (latewood: Double, sqlite: Double) {
    var times: [[Double]] = [[], []]
    for round in 0..<rounds {
      var found = [0, 0]
      // The engines take turns at going first.
      for place in round % 2 == 0 ? [0, 1] : [1, 0] {
        let start = clock()
        for operation in 0..<work.operations { found[place] &+= try work.body(engines[place], operation) }
        times[place].append(Double(clock() - start) / Double(CLOCKS_PER_SEC) / Double(work.operations))
      }
      guard found[0] == found[1] else { throw WrongAnswer(work: work.name, found: found) }
    }
    return (median(times[0]) * 1e6, median(times[1]) * 1e6)
  }
}

private struct WrongAnswer: Error {
  var work: String
  var found: [Int]
}
