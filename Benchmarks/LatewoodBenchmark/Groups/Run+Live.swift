import Dispatch
import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery

/// Group `queries`, live queries: the cost of an update, and of the commit that causes it.
extension Run where Engine == LatewoodEngine {
  func measureLiveQuery() throws {
    let count = Int(options.scaled(100_000))
    let changes = options.scaled(2000)
    var chosen = DocumentOptions()
    chosen.store.durability = .relaxed
    chosen.store.compaction = .manual
    let store = try DocumentStore.open(at: options.directory.path + "/live.latewood", options: chosen)
    guard let documents = try store.collection(CollectionHandle.defaultName) else {
      throw BenchmarkFailure("there is no default collection")
    }
    let save = { (number: Int, value: Int) in
      try store.write { writer in
        let id = "document-\(number)"
        let parent = try writer.reads(documents).head(of: id)?.winner
        try writer.save(id, in: documents, body: JSON.fleece(from: #"{"n":\#(value)}"#), parent: parent)
      }
    }
    try store.write { _ in for number in 0..<count { _ = try save(number, number) } }
    var random = SplitMix64(seed: 0x11)
    try measure("live-saves-alone", operations: changes) {
      for change in 0..<changes { _ = try save(Int(random.below(UInt64(count))), Int(change)) }
    }
    var request = FindRequest()
    request.order = [FindRequest.Order(FieldPath("n"))]
    let arrived = DispatchSemaphore(value: 0)
    let watching = Task.detached {
      var live = LiveFind(store, documents, request) { $0.revision }
      while let update = try await live.next() {
        if update.rows.count == count { arrived.signal() }
      }
    }
    arrived.wait()
    try measure("live-updates", operations: changes) {
      for change in 0..<changes {
        _ = try save(Int(random.below(UInt64(count))), Int(change) + count)
        arrived.wait()
      }
    }
    watching.cancel()
    try store.close()
  }
}
