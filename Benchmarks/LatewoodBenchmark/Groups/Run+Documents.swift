import LatewoodDocuments
import LatewoodFleece
import LatewoodStore

/// Group `documents`: the document engine, with bodies of about 900 bytes, each a single value.
extension Run where Engine == LatewoodEngine {
  private var documentPath: String { options.directory.path + "/documents.latewood" }

  func documentsGroup() throws {
    options.directory.makeEmpty()
    let count = options.scaled(100_000)
    var store = try openDocuments()
    try save(count, in: store, workload: "doc-save", over: false)
    try readDocuments(count, from: store, workload: "doc-get-fresh")
    try walkChanges(count, of: store, workload: "doc-changes-fresh")
    try store.close()
    store = try openDocuments()
    try readDocuments(count, from: store, workload: "doc-get")
    try walkChanges(count, of: store, workload: "doc-changes")
    try save(count, in: store, workload: "doc-update", over: true)
    try sweep(count, store)
    try saveDurably(options.scaled(2000), in: store)
    let report = try store.verify()
    for fault in report.faults.prefix(3) { Process.printError("\(fault)") }
    self.report.require("doc-verify", "\(report.faults.count) faults", "0 faults", report.isSound)
    try streamBlob(options.scaled(256), through: store)
    printMemory("documents")
    try store.close()
  }

  private func openDocuments() throws -> DocumentStore {
    var chosen = DocumentOptions()
    chosen.store.durability = .relaxed
    chosen.store.compaction = .manual
    return try DocumentStore.open(at: documentPath, options: chosen)
  }

  private func documents(of store: DocumentStore) throws -> CollectionHandle {
    guard let collection = try store.collection(CollectionHandle.defaultName) else {
      throw BenchmarkFailure("there is no default collection")
    }
    return collection
  }

  private func identifier(_ number: UInt64) -> String {
    let digits = String(number)
    return "movie-" + String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }

  /// Returns 900 bytes as Fleece; their first ones follow the length, which takes three.
  private func body(of byte: UInt8) throws -> [UInt8] {
    var writer = FleeceWriter()
    try writer.data([UInt8](repeating: byte, count: 900))
    return try writer.finish()
  }

  private func save(_ count: UInt64, in store: DocumentStore, workload: String, over: Bool) throws {
    let documents = try documents(of: store)
    var random = SplitMix64(seed: over ? 0x5151 : 0x5050)
    var body = try self.body(of: 0x61)
    try measure(workload, operations: count) {
      for start in stride(from: 0, to: count, by: 1000) {
        try store.write { writer in
          for number in start..<min(count, start + 1000) {
            let id = identifier(number)
            withUnsafeBytes(of: random.next()) { body.replaceSubrange(4..<12, with: $0) }
            let parent = over ? try writer.reads(documents).head(of: id)?.winner : nil
            try writer.save(id, in: documents, body: body, parent: parent)
          }
        }
      }
      try store.sync()
    }
  }

  private func saveDurably(_ count: UInt64, in store: DocumentStore) throws {
    let documents = try documents(of: store)
    let body = try self.body(of: 0x62)
    var times: [Double] = []
    try measure("doc-save-durable", operations: count) {
      for number in 0..<count {
        let start = Process.now
        try store.write(durability: .synchronous) {
          try $0.save("single-\(number)", in: documents, body: body, parent: nil)
        }
        times.append(Process.now - start)
      }
    }
    report.latencies("doc-save-durable", times)
  }

  private func readDocuments(_ count: UInt64, from store: DocumentStore, workload: String) throws {
    let documents = try documents(of: store)
    var random = SplitMix64(seed: 0x5252)
    var bytes = 0
    let reads = options.scaled(500_000)
    try measure(workload, operations: reads) {
      for _ in 0..<reads {
        let document = try store.reads(documents).document(identifier(random.below(count)))
        bytes += document?.body.count ?? 0
      }
    }
    report.require(workload, "\(bytes) bytes", "\(900 * reads)", bytes == 900 * Int(reads))
  }

  private func walkChanges(_ count: UInt64, of store: DocumentStore, workload: String) throws {
    let documents = try documents(of: store)
    var seen: UInt64 = 0
    try measure(workload, operations: 10 * count) {
      for _ in 0..<10 {
        try store.reads(documents).forEachChange { _ in
          seen += 1
          return true
        }
      }
    }
    report.require(workload, "\(seen) changes", "\(10 * count)", seen == 10 * count)
  }

  private func sweep(_ count: UInt64, _ store: DocumentStore) throws {
    let swept = try measure("doc-sweep", operations: count) { try store.sweep() }
    report.require("doc-sweep", "\(swept.bodies) bodies", "\(count)", swept.bodies == Int(count))
    let compacted = try measure("doc-compact", operations: count) { try store.compact() }
    report.figure("doc-compact", "MiB_before", Double(compacted.bytesBefore) / Process.mebibyte)
    report.figure("doc-compact", "MiB_after", Double(compacted.bytesAfter) / Process.mebibyte)
  }
}
