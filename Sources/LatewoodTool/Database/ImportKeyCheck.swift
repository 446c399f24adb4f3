import LatewoodDocuments

/// The target of a first reading of the source, which writes nothing: refuses duplicate keys, and
/// keys and documents that could not be saved. Keeps all keys in memory.
struct ImportKeyCheck: ImportTarget {
  /// The longest key of an entry, in bytes.
  private static let longestKey = 16_384

  /// The reader of bodies, if values become documents.
  private let documents: BodyReader?
  let added = 0
  let replaced = 0
  let kept = 0
  /// The number of the value with each key, counted from 1.
  private var numbers: [[UInt8]: Int] = [:]

  init(ofDocuments: Bool) { documents = ofDocuments ? BodyReader() : nil }

  mutating func put(_ key: [UInt8], _ value: UnsafeRawBufferPointer, line: Int) throws {
    let number = numbers.count + 1
    try Failure.amending {
      try check(key, value)
    } by: { failure in
      failure.line = line
      failure.advice = "Nothing was imported. " + failure.advice
    }
    guard let earlier = numbers.updateValue(number, forKey: key) else { return }
    var failure = Failure(
      .badInput, code: "keyRepeated",
      "value \(number) has the key of value \(earlier): \(Arguments.quoted(key))",
      advice: "Nothing was imported. Choose members that tell the values apart, such as title+year; "
        + "without --unique the later value replaces the earlier.")
    failure.line = line
    throw failure
  }

  /// Throws if the import would refuse an entry.
  private func check(_ key: [UInt8], _ value: UnsafeRawBufferPointer) throws {
    if let documents {
      try DocumentImport.check(id: key)
      try documents.prepare(value)
      _ = try documents.body()
    } else if key.isEmpty || key.count > Self.longestKey {
      throw Failure.badInput(
        "the key is \(key.count) bytes long",
        advice: "Keys have 1 to \(Self.longestKey) bytes: choose others with --key.")
    }
  }

  mutating func finish() {}
}

extension Importer {
  /// Reads the source once and writes nothing, so that a duplicate key, a key that is not allowed,
  /// or text that is not JSON, is refused before anything is changed.
  static func checkKeys(
    _ arguments: Arguments, _ known: DatabaseContent?, keyspaceName: String, on console: Console
  ) throws {
    let path = try arguments.text(1)
    guard path != "-" else {
      throw Failure.usage(
        "--unique reads SOURCE twice, and standard input can be read only once",
        advice: "Write it into a file, and import that.")
    }
    var importer = try Importer(
      from: try ImportSource(path: path, encoding: arguments.encoding(), console: console),
      keyspaceName: keyspaceName,
      progress: Progress("Checking", on: console))
    try importer.begin(arguments, known)
    var check = ImportKeyCheck(ofDocuments: importer.content == .documents)
    _ = try importer.run(into: &check)
  }
}
