import LatewoodFleece
import LatewoodStore

/// The revisions of a collection that another database is known to have, by their sequences.
///
/// A push to that database vouches for all revisions up to the sequence that it has reached, except
/// those that the other side refused. A pull vouches for the revisions that it has inserted. The
/// knowledge is a lower bound: the other side may have more.
///
/// It is kept as a local document of the collection, so it is also in copies and backups. Its size
/// is bounded: only the newest refusals and pulls are kept, up to ``limit``.
package struct RemoteKnowledge: Sendable, Equatable {
  /// The identity of the other database, for a CouchDB its URL.
  package let remote: String
  /// The sequence that a push has reached.
  package private(set) var pushed: UInt64 = 0
  /// The sequences up to ``pushed`` of the revisions that the other side has refused, ascending.
  package private(set) var refused: [UInt64] = []
  /// The sequences after ``pushed`` of the revisions that were pulled, ascending, with gaps
  /// between the ranges.
  package private(set) var pulled: [ClosedRange<UInt64>] = []

  /// The greatest numbers of refusals and of ranges.
  package static let limit = 1000

  package init(_ remote: String) { self.remote = remote }

  /// Whether the other side is known to have the revision with a sequence.
  package func contains(_ sequence: UInt64) -> Bool {
    if sequence <= pushed { return sequence > 0 && !refused.contains(sequence) }
    return pulled.contains { $0.contains(sequence) }
  }

  /// Adds revisions that were pulled.
  package mutating func notePull(_ sequences: ClosedRange<UInt64>) {
    var ranges = pulled + [sequences]
    ranges.sort { $0.lowerBound < $1.lowerBound }
    pulled = []
    for range in ranges {
      if let last = pulled.last, range.lowerBound <= last.upperBound &+ 1 {
        pulled[pulled.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        pulled.append(range)
      }
    }
    trim()
  }

  /// Adds the revisions up to a sequence.
  ///
  /// - Parameter refused: the sequences of those that the other side has refused.
  package mutating func notePush(through sequence: UInt64, refused other: [UInt64]) {
    pushed = max(pushed, sequence)
    refused = Set(refused + other.filter { $0 <= pushed }).sorted()
    trim()
  }

  /// Forgets refused revisions, such as those that have been replaced since.
  package mutating func forgetRefused(where isGone: (UInt64) throws -> Bool) rethrows {
    try refused.removeAll(where: isGone)
  }

  private mutating func trim() {
    pulled = pulled.compactMap { range in
      range.upperBound <= pushed ? nil : max(range.lowerBound, pushed + 1)...range.upperBound
    }
    pulled = pulled.suffix(Self.limit)
    refused = refused.suffix(Self.limit)
  }
}

// MARK: - The local document

extension RemoteKnowledge {
  /// The beginning of the names of these local documents.
  static let namePrefix = "remote-"

  /// The name of the local document about a database.
  static func name(_ remote: String) -> String {
    namePrefix + BlobDigest(of: Array(remote.utf8)).description.prefix(32)
  }

  /// Reads a local document. Returns nil if it has another form.
  init?(_ body: [UInt8]) throws(FleeceError) {
    let root = try FleeceBody(body).root
    guard let remote = try root.element(for: "remote")?.string(),
      let pushed = try root.element(for: "pushed")?.natural(),
      let refused = try Self.numbers(root.element(for: "refused")),
      let bounds = try Self.numbers(root.element(for: "pulled")), bounds.count.isMultiple(of: 2)
    else { return nil }
    self.init(remote)
    notePush(through: pushed, refused: refused)
    for place in stride(from: 0, to: bounds.count, by: 2) where bounds[place] <= bounds[place + 1] {
      pulled.append(bounds[place]...bounds[place + 1])
    }
    trim()
  }

  func encoded() throws(FleeceError) -> [UInt8] {
    var writer = FleeceWriter()
    try writer.beginDictionary()
    try writer.key("remote")
    try writer.string(remote)
    try writer.key("pushed")
    try writer.unsigned(pushed)
    for (name, numbers) in [
      ("refused", refused), ("pulled", pulled.flatMap { [$0.lowerBound, $0.upperBound] }),
    ] {
      try writer.key(name)
      try writer.beginArray()
      for number in numbers { try writer.unsigned(number) }
      try writer.endArray()
    }
    try writer.endDictionary()
    return try writer.finish()
  }

  private static func numbers(_ value: FleeceElement?) throws(FleeceError) -> [UInt64]? {
    guard let value, let count = try value.count() else { return nil }
    var numbers: [UInt64] = []
    for place in 0..<count {
      guard let number = try value.element(at: place)?.natural() else { return nil }
      numbers.append(number)
    }
    return numbers
  }
}

// MARK: - In a database

extension DocumentReads {
  /// The knowledge about each other database, ordered by identity.
  package func remotes() throws(DatabaseError) -> [RemoteKnowledge] {
    try DatabaseError.typed { try source.remotes(in: spaces.local) }
  }
}

extension Readable {
  /// The knowledge about each other database. Local documents of another form are ignored.
  func remotes(in local: Keyspace) throws -> [RemoteKnowledge] {
    var found: [RemoteKnowledge] = []
    try forEach(in: local, .prefix(RemoteKnowledge.namePrefix)) { _, value in
      if let remote = try RemoteKnowledge(value.withUnsafeBytes { Array($0) }) { found.append(remote) }
      return true
    }
    return found.sorted { $0.remote.utf8.lexicographicallyPrecedes($1.remote.utf8) }
  }
}

extension DocumentWriter {
  /// Inserts revisions from another database, and records that the other database has them.
  package func insert(
    contentsOf revisions: [ForeignRevision], in collection: CollectionHandle, from remote: String
  ) throws -> [Result<InsertedRevision, DatabaseError>] {
    let before = try reads(collection).lastSequence()
    let results = try insert(contentsOf: revisions, in: collection)
    let after = try reads(collection).lastSequence()
    if after > before {
      try change(remote, in: collection) { $0.notePull(before + 1...after) }
    }
    return results
  }

  /// Notes that another database has the revisions up to a sequence.
  ///
  /// - Parameter refused: revisions that it has refused.
  package func notePush(
    to remote: String, through sequence: UInt64, refused: [(id: String, revision: RevisionID)],
    in collection: CollectionHandle
  ) throws {
    let reads = try reads(collection)
    let sequences = try refused.compactMap { try reads.record(of: $0.id)?.tree[$0.revision]?.body }
    try change(remote, in: collection) { knowledge in
      knowledge.notePush(through: sequence, refused: sequences)
      try knowledge.forgetRefused { place in
        try !reads.source.contains(SequenceEntry.key(place), in: reads.spaces.sequences)
      }
    }
  }

  /// Forgets what another database has. Bodies that were kept for it can be removed by the next
  /// compaction.
  ///
  /// - Returns: whether anything was known.
  @discardableResult
  package func forget(_ remote: String, in collection: CollectionHandle) throws -> Bool {
    try deleteLocal(RemoteKnowledge.name(remote), in: collection)
  }

  private func change(
    _ remote: String, in collection: CollectionHandle, _ body: (inout RemoteKnowledge) throws -> Void
  ) throws {
    let name = RemoteKnowledge.name(remote)
    let stored = try reads(collection).local(name)
    let old = try stored.flatMap { try RemoteKnowledge($0) }
    var knowledge = old ?? RemoteKnowledge(remote)
    try body(&knowledge)
    if knowledge != old { try putLocal(name, in: collection, body: knowledge.encoded()) }
  }
}
