import LatewoodDocuments
import LatewoodStore

/// Compares two states of one or two databases, keyspace by keyspace.
///
/// States of one file share most of their trees, and shared parts are skipped unread. Two files are
/// both read in parallel, in the order of the keys.
struct StateComparison {
  struct Difference {
    enum Kind: String { case added, changed, removed }

    var keyspace: String
    /// The key, or the id of a document.
    var key: [UInt8]
    var old: [UInt8]?
    var new: [UInt8]?
    /// The records of a document.
    var records: (old: DocumentRecord?, new: DocumentRecord?)?

    var kind: Kind {
      let (before, after) = (isThere(old, records?.old), isThere(new, records?.new))
      return before == after ? .changed : after ? .added : .removed
    }

    /// Returns whether the value exists. A document whose winner is a tombstone counts as missing.
    private func isThere(_ value: [UInt8]?, _ record: DocumentRecord?) -> Bool {
      guard records != nil else { return value != nil }
      return record?.tree.winner.map { !$0.isDeleted } ?? false
    }
  }

  let old: Snapshot
  let new: Snapshot
  /// Whether both states are from one store.
  let areOfOneFile: Bool
  /// Whether to compare records as documents: by their revisions, ignoring the offsets of bodies in
  /// the file.
  let areDocuments: Bool

  static let documentsPrefix = "documents/"

  /// Calls `body` with each difference in a keyspace of either state, until it returns false.
  func run(in name: String, _ body: (Difference) throws -> Bool) throws {
    let (before, after) = (try old.existingKeyspace(name), try new.existingKeyspace(name))
    if areOfOneFile, let before, let after, before.id == after.id {
      try new.changes(since: old, in: after) { change in
        guard let difference = try difference(name, change.key, change.old, change.new) else { return true }
        return try body(difference)
      }
    } else {
      try merge(name, before, after, body)
    }
  }

  /// Returns the names of the keyspaces in both states.
  func keyspaces() throws -> [String] {
    let names = try Set(old.keyspaces().map(\.name)).union(new.keyspaces().map(\.name))
    return names.filter { !areDocuments || $0.hasPrefix(Self.documentsPrefix) }.sorted()
  }

  private func merge(
    _ name: String, _ before: Keyspace?, _ after: Keyspace?, _ body: (Difference) throws -> Bool
  ) throws {
    let mine = try before.map { keyspace in try old.cursor(in: keyspace) }
    let theirs = try after.map { keyspace in try new.cursor(in: keyspace) }
    var hasMine = try mine?.seekFirst() ?? false
    var hasTheirs = try theirs?.seekFirst() ?? false
    while hasMine || hasTheirs {
      let key = hasMine ? try mine?.key() : nil
      let otherKey = hasTheirs ? try theirs?.key() : nil
      let isOld = otherKey.map { other in key.map { !other.lexicographicallyPrecedes($0) } ?? false } ?? true
      let isNew = key.map { key in otherKey.map { !key.lexicographicallyPrecedes($0) } ?? false } ?? true
      let value = isOld ? try mine?.value() : nil
      let otherValue = isNew ? try theirs?.value() : nil
      if value != otherValue, let key = isOld ? key : otherKey,
        let difference = try difference(name, key, value, otherValue)
      {
        guard try body(difference) else { return }
      }
      if isOld { hasMine = try mine?.next() ?? false }
      if isNew { hasTheirs = try theirs?.next() ?? false }
    }
  }

  /// Returns the difference between two documents; nil if they are the same.
  private func difference(
    _ name: String, _ key: [UInt8], _ old: [UInt8]?, _ new: [UInt8]?
  ) throws -> Difference? {
    var difference = Difference(keyspace: name, key: key, old: old, new: new)
    guard areDocuments else { return difference }
    let before = try old.map { bytes in try bytes.withUnsafeBytes { try DocumentRecord($0) } }
    let after = try new.map { bytes in try bytes.withUnsafeBytes { try DocumentRecord($0) } }
    func leaves(_ record: DocumentRecord?) -> [String]? {
      record?.tree.leaves.map { "\($0.id) \($0.isDeleted)" }
    }
    if leaves(before) == leaves(after), before?.expiry == after?.expiry { return nil }
    difference.records = (before, after)
    return difference
  }
}
