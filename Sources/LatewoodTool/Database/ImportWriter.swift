import LatewoodFleece
import LatewoodStore

/// The target of the values that an import reads.
protocol ImportTarget {
  var added: Int { get }
  var replaced: Int { get }
  var kept: Int { get }
  /// Puts a value, together with `settle`.
  ///
  /// - Parameter line: the line in the source, for messages.
  mutating func put(_ key: [UInt8], _ value: UnsafeRawBufferPointer, line: Int) throws
  /// Ends a `put`, after which the memory of the value has been given up.
  mutating func settle() throws
  /// Puts a value that has not been parsed. Does nothing and returns false if this target parses no
  /// texts itself, if it is not one JSON text, or if it has no key.
  ///
  /// - Parameter key: returns the key of the value, or nil.
  mutating func put(
    text: UnsafeRawBufferPointer, line: Int, key: (FleeceElement) -> [UInt8]?
  ) throws -> Bool
  mutating func finish() throws
}

extension ImportTarget {
  mutating func settle() throws {}

  mutating func put(
    text: UnsafeRawBufferPointer, line: Int, key: (FleeceElement) -> [UInt8]?
  ) throws -> Bool { false }
}

/// Puts entries into a keyspace, many in each transaction, so that memory stays bounded regardless
/// of the size of the source.
///
/// Transactions are `.relaxed` until `finish` makes everything durable. An interrupted import keeps
/// the first part of the source, and its `ImportRecord` marks it as incomplete.
struct ImportWriter: ImportTarget {
  enum Existing: String, CaseIterable { case replace, keep, fail }

  private static let batchBytes = 4 << 20
  private static let batchEntries = 4096

  private let store: Store
  private let keyspaceName: String
  private let existing: Existing
  private var record: ImportRecord
  private var removesOld: Bool
  private var batch: [(key: [UInt8], value: [UInt8], line: Int)] = []
  private var pendingBytes = 0
  private(set) var added = 0
  private(set) var replaced = 0
  private(set) var kept = 0

  /// - Parameter removesOld: whether to remove the old entries of the keyspace, in the transaction
  ///   that puts the first new ones.
  init(_ store: Store, keyspaceName: String, record: ImportRecord, existing: Existing, removesOld: Bool) {
    self.store = store
    self.keyspaceName = keyspaceName
    self.record = record
    self.record.isComplete = false
    self.existing = existing
    self.removesOld = removesOld
  }

  /// - Parameter line: the line in the source, for messages.
  mutating func put(_ key: [UInt8], _ value: UnsafeRawBufferPointer, line: Int) throws {
    // A large value is not copied.
    guard value.count < Self.batchBytes else { return try commit(.relaxed, (key, value, line)) }
    batch.append((key, Array(value), line))
    pendingBytes += key.count + value.count
    if pendingBytes >= Self.batchBytes || batch.count >= Self.batchEntries { try commit(.relaxed) }
  }

  mutating func finish() throws {
    record.isComplete = true
    try commit(.synchronous)
  }

  /// - Parameter large: an entry after the entries of the batch.
  private mutating func commit(
    _ durability: Durability, _ large: (key: [UInt8], value: UnsafeRawBufferPointer, line: Int)? = nil
  ) throws {
    let work = (batch: batch, record: record, existing: existing, removesOld: removesOld, name: keyspaceName)
    var counts = (added: 0, replaced: 0, kept: 0)
    try store.write(durability: durability) { transaction in
      let keyspace = try transaction.keyspace(work.name)
      if work.removesOld { try transaction.deleteRange(.all, in: keyspace) }
      let records = try transaction.keyspace(ImportRecord.keyspaceName)
      try transaction.put(work.name, work.record.encoded, in: records)
      func put(_ key: [UInt8], _ value: some ByteSource, line: Int) throws {
        if try transaction.contains(key, in: keyspace) {
          switch work.existing {
          case .fail: throw Self.exists(key, line: line)
          case .keep:
            counts.kept += 1
            return
          case .replace: counts.replaced += 1
          }
        } else {
          counts.added += 1
        }
        try Failure.amending {
          try transaction.put(key, value, in: keyspace)
        } by: {
          $0.line = line
        }
      }
      for entry in work.batch { try put(entry.key, entry.value, line: entry.line) }
      if let large { try put(large.key, large.value, line: large.line) }
    }
    added += counts.added
    replaced += counts.replaced
    kept += counts.kept
    removesOld = false
    batch.removeAll(keepingCapacity: true)
    pendingBytes = 0
  }

  static func exists(_ key: [UInt8], line: Int) -> Failure {
    var failure = Failure(
      .badInput, code: "keyExists", "the key \(Arguments.quoted(key)) already exists",
      advice: "--existing replace takes the later value, --existing keep the earlier.")
    failure.line = line
    return failure
  }
}
