import LatewoodStore

/// Part `deleterange`: deletes half of the database in one operation, compared with deleting the
/// same keys one by one.
extension Run where Engine == LatewoodEngine {
  func deleteRange() throws {
    let single = try deleteMiddle("deleterange-single", inOneOperation: false)
    let whole = try deleteMiddle("deleterange", inOneOperation: true)
    report.figure("deleterange", "ratio", single.delete / whole.delete)
    report.figure("deleterange", "ratio_with_checkpoint", single.total / whole.total)
  }

  /// Deletes the middle half of the keys. Returns the seconds until the delete is on the disk, and
  /// the seconds including the checkpoint after it.
  private func deleteMiddle(
    _ workload: String, inOneOperation: Bool
  ) throws -> (delete: Double, total: Double) {
    let engine = try filled(options.records)
    let low = options.records / 4
    let count = options.records / 2
    let start = Process.now
    try Scratch.use(valueLength: 0) { scratch in
      try measure(workload, operations: count) {
        if inOneOperation {
          let range = KeyRange.between(Array(scratch.key(low)), Array(scratch.key(low + count)))
          try engine.store.write { try $0.deleteRange(range, in: engine.keyspace) }
          try engine.flush()
        } else {
          _ = try writeBatches(count, of: 1000, to: engine) { writer, index in
            try writer.delete(scratch.key(low + index))
          }
        }
      }
    }
    let deleted = Process.now - start
    report.figure(workload, "seconds", deleted)
    try requireRest(workload, engine, options.records - count, "before the checkpoint")
    let checkpointStart = Process.now
    try engine.store.checkpoint()
    let checkpoint = Process.now - checkpointStart
    report.figure(workload, "checkpoint_ms", checkpoint * 1e3)
    try requireRest(workload, engine, options.records - count, "after the checkpoint")
    try close(engine, after: workload)
    return (deleted, deleted + checkpoint)
  }

  private func requireRest(
    _ workload: String, _ engine: LatewoodEngine, _ expected: UInt64, _ when: String
  ) throws {
    let count = UInt64(try engine.store.count(in: engine.keyspace))
    report.require(workload, "\(count) keys \(when)", "\(expected)", count == expected)
    var checksum = Checksum()
    let scanned = try Scratch.use(valueLength: 0) { scratch in
      UInt64(try engine.scan(from: scratch.key(0), limit: .max, into: &checksum))
    }
    report.require(workload, "\(scanned) keys scanned \(when)", "\(expected)", scanned == expected)
  }
}
