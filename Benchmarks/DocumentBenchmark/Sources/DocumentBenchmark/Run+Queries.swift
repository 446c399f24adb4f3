import Foundation

/// Queries over indexes, compared with SQLite by the processor time of the process: medians of
/// several rounds.
extension Run {
  private typealias Work = ComparedWork<any QueryEngine>

  func queries() throws -> Bool {
    let path = try emptyPath()
    let text = QueryText(count: count)
    let engines: [any QueryEngine] = [try LatewoodQueries(at: path), try SQLiteQueries(at: path)]
    for engine in engines {
      for start in stride(from: 0, to: count, by: 1000) {
        // Saved in scattered order.
        let numbers = (start..<min(count, start + 1000)).map { $0 &* 7_919 % count }
        try engine.save(numbers.map { (text.id($0), text.json($0)) })
      }
    }
    print("\(count) documents; Latewood beside SQLite \(SQLiteConnection.version), CPU time, ratio (goal)")
    var isEnough = true
    for field in ["n", "s", "day"] {
      let name = "index on \(field), for each document"
      let work = Work(name: name, goal: 2, operations: count) { engine, place in
        if place == 0 { try engine.createIndex(field) }
        return 0
      }
      isEnough = try measure(work, engines, rounds: 1) && isEnough
    }
    for work in asked(text) where only.map({ work.name.contains($0) }) ?? true {
      isEnough = try measure(work, engines, rounds: rounds) && isEnough
    }
    if only == nil { isEnough = try measure(updates(text), engines, rounds: 1) && isEnough }
    for engine in engines { try engine.close() }
    return isEnough
  }

  private func asked(_ text: QueryText) -> [Work] {
    let count = count
    let few = min(count, 2000)
    let many = min(count, 5000)
    func numbers(_ operation: Int, width: Int = 1) -> Range<Int> {
      let low = operation &* 7_368_787 % (count - width + 1)
      return low..<low + width
    }
    return [
      Work(name: "point query with body", goal: 3, operations: 20_000) {
        try $0.point(numbers($1).lowerBound)
      },
      Work(name: "range of \(few), covering", goal: 5, operations: 100) {
        try $0.covered(numbers($1, width: few))
      },
      Work(name: "range of \(few), with bodies", goal: 3, operations: 100) {
        try $0.bodies(numbers($1, width: few))
      },
      Work(name: "count of a range of \(few)", goal: 5, operations: 2000) {
        try $0.count(numbers($1, width: few))
      },
      Work(name: "page behind \(count / 2)", goal: 50, operations: 500) { engine, _ in
        try engine.page(behind: count / 2)
      },
      Work(name: "sum over a range of \(many)", goal: 20, operations: 100) {
        try $0.sum(numbers($1, width: many))
      },
      Work(name: "top 10, covering", goal: 1, operations: 10_000) { engine, _ in try engine.top() },
      Work(name: "top 10, with bodies", goal: 1, operations: 10_000) { engine, _ in try engine.topBodies() },
      Work(name: "scan without an index", goal: 3, operations: 3) { engine, _ in try engine.scan("none") },
    ]
  }

  private func updates(_ text: QueryText) -> Work {
    let count = count
    return Work(name: "100 updates with 3 indexes", goal: 3, operations: 100) { engine, batch in
      let numbers = (0..<100).map { (batch * 100 + $0) &* 7_919 % count }
      try engine.save(numbers.map { (text.id($0), text.json($0 + count)) })
      return 0
    }
  }
}
