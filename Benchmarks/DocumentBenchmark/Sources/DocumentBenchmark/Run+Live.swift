import Dispatch
import Foundation
import Latewood

/// Live queries.
extension Run {
  /// The greatest time of an update, in µs of processor time.
  private static let goal = 20.0

  /// Measures updates of a live query that shows all documents in the order of a member, each after
  /// the save of one document, compared with unobserved saves.
  func live() throws -> Bool {
    var options = Database.Configuration()
    options.durability = .relaxed
    let database = try Database.open(at: try emptyPath() + ".latewood", configuration: options)
    let collection = try database.defaultCollection
    let save = { (number: Int, value: Int) in
      _ = try collection.save(
        MutableDocument(id: "document-\(number)", json: #"{"n":\#(value)}"#), .lastWriteWins)
    }
    try database.inBatch { for number in 0..<count { try save(number, number) } }
    let changes = min(count, 2000)
    // Before the observed changes and after them.
    func change(_ arrived: DispatchSemaphore?) throws -> Double {
      let start = clock()
      for change in 0..<changes {
        try save(change &* 7_919 % count, change + count)
        arrived?.wait()
      }
      return Double(clock() - start) / Double(CLOCKS_PER_SEC) / Double(changes) * 1e6
    }
    let arrived = DispatchSemaphore(value: 0)
    var extra: [Double] = []
    for _ in 0..<rounds {
      let alone = try change(nil)
      let watching = Task.detached { [count] in
        for try await update in collection.query().sorted(by: { $0["n"] }).live()
        where update.values.count == count {
          arrived.signal()
        }
      }
      arrived.wait()
      let observed = try change(arrived)
      watching.cancel()
      extra.append(observed - alone)
      print("a save takes \(shown(alone)) µs of processor time alone, \(shown(observed)) µs with its update")
    }
    let middle = shown(median(extra))
    print("an update of \(count) rows, median of \(rounds): \(middle) µs, asked \(shown(Self.goal))")
    try database.close()
    return median(extra) <= Self.goal
  }
}
