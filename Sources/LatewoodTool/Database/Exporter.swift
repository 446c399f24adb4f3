import LatewoodFleece

/// One run of `export`: writes the entries of a keyspace, or documents, in one of the four forms.
/// Keeps one entry in memory at a time.
struct Exporter {
  private let output: Output
  private let progress: Progress
  private(set) var shape = ImportRecord.Shape.entries
  private(set) var count: UInt64 = 0
  var length: UInt64 { output.length }

  init(to output: Output, progress: Progress) {
    self.output = output
    self.progress = progress
  }

  /// - Parameters:
  ///   - fallback: the form to use if neither the user nor a record of an import names one, or if
  ///     there is more than one document.
  ///   - entries: calls a closure with each key and value.
  mutating func run(
    wanted: ImportRecord.Shape?, record: ImportRecord?, fallback: ImportRecord.Shape, total: UInt64,
    entries: (_ take: (_ key: [UInt8], _ value: [UInt8]) throws -> Void) throws -> Void
  ) throws {
    shape = wanted ?? record?.shape ?? fallback
    if shape == .document, total != 1 {
      // Several documents in a keyspace cannot be exported as a single document any more, but as
      // entries.
      guard wanted == nil else {
        throw Failure.badInput(
          "there are \(Quantity.count(total, "entry", "entries")), and a document is one",
          advice: "Choose --format array, lines or entries, or get a single key.")
      }
      shape = fallback
    }
    if shape == .array { try output.write("[") }
    try entries { key, value in
      try add(key, value)
      try progress.update(count, of: total) { Quantity.count($0) }
    }
    if shape == .array { try output.write(count == 0 ? "]\n" : "\n]\n") }
    try output.flush()
    try progress.finish()
  }

  private mutating func add(_ key: [UInt8], _ value: [UInt8]) throws {
    if shape == .array { try output.write(count == 0 ? "\n" : ",\n") }
    count += 1
    if shape == .entries {
      var writer = JSONOutput()
      ExportedEntry(key: key, value: value).write(to: &writer)
      try output.write(writer.take())
    } else {
      guard let text = JSON.compact(value) else {
        throw Failure.badInput(
          "the value of \(Arguments.quoted(key)) is not JSON",
          advice: "--format entries exports values of any kind.")
      }
      try output.write(text)
    }
    if shape != .array { try output.write("\n") }
  }

  func write(to writer: inout JSONOutput, _ place: String, _ name: String, nanoseconds: UInt64) {
    writer.beginDictionary()
    writer.member(place, name)
    writer.member("format", shape.rawValue)
    writer.member("values", count)
    writer.member("bytes", length)
    writer.member("nanoseconds", nanoseconds)
    writer.endDictionary()
  }
}
