import LatewoodStore

/// One run of `export`: writes the entries of a keyspace in one of the four forms, one entry in memory at a time.
struct Exporter {
  private let snapshot: Snapshot
  private let keyspace: Keyspace
  private let output: Output
  private let progress: Progress
  private(set) var shape = ImportRecord.Shape.entries
  private(set) var count: UInt64 = 0
  var length: UInt64 { output.length }

  init(_ snapshot: Snapshot, _ keyspace: Keyspace, to output: Output, progress: Progress) {
    self.snapshot = snapshot
    self.keyspace = keyspace
    self.output = output
    self.progress = progress
  }

  mutating func run(wanted: ImportRecord.Shape?, record: ImportRecord?) throws(Failure) {
    do {
      let total = UInt64(try snapshot.count(in: keyspace))
      shape = wanted ?? record?.shape ?? .entries
      if shape == .document, total != 1 {
        // Several documents in a keyspace are no single document any more, but they are entries.
        guard wanted == nil else {
          throw Failure.badInput(
            "the keyspace has \(Quantity.count(total, "entry", "entries")), and a document is one",
            advice: "Choose --format array, lines or entries, or get a single key.")
        }
        shape = .entries
      }
      if shape == .array { try output.write("[") }
      try snapshot.forEach(in: keyspace) { key, value in
        try add(key.bytes(), value.bytes())
        try progress.update(count, of: total) { Quantity.count($0) }
        return true
      }
      if shape == .array { try output.write(count == 0 ? "]\n" : "\n]\n") }
      try output.flush()
      try progress.finish()
    } catch { throw Failure(error) }
  }

  private mutating func add(_ key: [UInt8], _ value: [UInt8]) throws(Failure) {
    if shape == .array { try output.write(count == 0 ? "\n" : ",\n") }
    count += 1
    if shape == .entries {
      var writer = JSONWriter()
      ExportedEntry(key: key, value: value).write(to: &writer)
      try output.write(writer.bytes)
    } else {
      guard let text = JSONText.compact(value) else {
        throw .badInput(
          "the value of \(Arguments.quoted(key)) is not JSON",
          advice: "--format entries exports values of any kind.")
      }
      try output.write(text)
    }
    if shape != .array { try output.write("\n") }
  }

  func write(to writer: inout JSONWriter, keyspace: String, nanoseconds: UInt64) {
    writer.beginObject()
    writer.member("keyspace", keyspace)
    writer.member("format", shape.rawValue)
    writer.member("values", count)
    writer.member("bytes", length)
    writer.member("nanoseconds", nanoseconds)
    writer.endObject()
  }
}
