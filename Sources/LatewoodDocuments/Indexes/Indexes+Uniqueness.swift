import LatewoodQuery

/// The keys in unique indexes of one collection that a batch still has to check.
///
/// The state at the end is checked: no document that was saved here may share a key with another
/// document. As when each save is checked, a revision from another replica is accepted if it is
/// inserted after the save.
struct UncheckedKeys {
  /// A key of a document.
  struct Place: Hashable {
    /// The number of the index.
    let index: UInt64
    /// The key in the keyspace of entries, which contains the id.
    let entry: [UInt8]

    init(_ index: CollectionIndex, _ key: IndexKey, _ id: String) {
      self.index = index.record.number
      entry = IndexEntry.key(key, id)
    }
  }

  /// A key that a save has added.
  struct Saved {
    let index: UInt64
    let key: IndexKey
    let id: String
    let step: Int
  }

  private var step = 0
  /// The keys that saves have added, and no revision from another replica has confirmed since.
  private var saved: [Place: Saved] = [:]
  /// The steps in which revisions from other replicas have added keys.
  private var replicated: [Place: Int] = [:]

  /// Takes note of the keys of a document after a change.
  ///
  /// - Parameters:
  ///   - isAdded: whether the change added the key.
  ///   - isLocal: whether the change is a save, and not a revision from another replica.
  mutating func note(_ key: IndexKey, _ id: String, _ index: CollectionIndex, isAdded: Bool, isLocal: Bool) {
    guard !key.lacksValue else { return }
    step += 1
    let place = Place(index, key, id)
    if isLocal {
      guard isAdded else { return }
      saved[place] = Saved(index: place.index, key: key, id: id, step: step)
    } else {
      saved[place] = nil
      if isAdded { replicated[place] = step }
    }
  }

  /// The keys to check, in the order of the saves.
  var inOrder: [Saved] { saved.values.sorted { $0.step < $1.step } }

  /// Returns whether another document got the key from another replica after a save.
  func isAccepted(_ key: IndexKey, _ other: String, _ index: CollectionIndex, after saved: Saved) -> Bool {
    (replicated[Place(index, key, other)] ?? 0) > saved.step
  }
}

extension DocumentBatch {
  /// Runs a part of the batch with a check of unique indexes at another time.
  ///
  /// - Parameter check: the time; nil for the time of the batch around this part. A part with
  ///   `atEnd` in a batch with `atEachSave` is checked at its own end.
  /// - Throws: ``DatabaseError`` `notUnique`, which names both documents, if two of them have the
  ///   same values at the end.
  package func checkingUniqueness<R>(_ check: UniquenessCheck?, _ body: () throws -> R) throws -> R {
    guard let check, check != uniqueness else { return try body() }
    let outer = uniqueness
    uniqueness = check
    defer { uniqueness = outer }
    let result = try body()
    if check == .atEnd {
      uniqueness = outer
      for part in partsInOrder { try Indexes(self, part).checkKeys() }
    }
    return result
  }
}

extension Indexes {
  /// Takes note of the keys of a change, to be checked at the end of the batch.
  func deferCheck(
    _ keys: ChangedKeys, _ id: String, _ indexes: [CollectionIndex], from old: IndexedRevision?,
    to new: IndexedRevision?, isLocal: Bool
  ) throws(DatabaseError) {
    var unchecked = part.indexes.uncheckedKeys.take() ?? UncheckedKeys()
    defer { part.indexes.uncheckedKeys = unchecked }
    for (place, index) in indexes.enumerated() where index.definition.isUnique {
      for entry in keys.after.entries(ofIndex: place) {
        let isAdded = try isAdded(entry, to: place, keys, index, id, old, new)
        unchecked.note(keys.after.list.key(entry), id, index, isAdded: isAdded, isLocal: isLocal)
      }
    }
  }

  /// Throws `notUnique` if a document that was saved shares a key with another document.
  fileprivate func checkKeys() throws {
    guard let unchecked = part.indexes.uncheckedKeys.take() else { return }
    for saved in unchecked.inOrder {
      // The index, or the document, may be gone.
      guard let index = try loaded().first(where: { $0.record.number == saved.index }) else { continue }
      try check(saved, unchecked, index)
    }
  }

  private func check(
    _ saved: UncheckedKeys.Saved, _ unchecked: UncheckedKeys, _ index: CollectionIndex
  ) throws {
    var isThere = false
    var others: [String] = []
    try forEachEntry(of: index, .prefix(saved.key.bytes)) { entry in
      if entry.id.utf8.elementsEqual(saved.id.utf8) { isThere = true } else { others.append(entry.id) }
      return true
    }
    guard isThere else { return }
    for other in others where !unchecked.isAccepted(saved.key, other, index, after: saved) {
      // This purges an expired document.
      guard let found = try DocumentWriter(batch).record(other, part).flatMap({ IndexedRevision($0) }),
        let own = try DocumentWriter(batch).record(saved.id, part).flatMap({ IndexedRevision($0) })
      else { continue }
      if saved.key.isCut, try !share(saved.id, own, other, found, index) { continue }
      throw DatabaseError(
        .notUnique,
        "at the end of the batch, the documents \(saved.id) and \(other) have the same values in the unique index \(index.name)"
      )
    }
  }
}
