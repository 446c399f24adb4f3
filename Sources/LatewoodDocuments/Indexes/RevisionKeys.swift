import LatewoodQuery

/// The entries of one revision in all indexes of a collection.
struct RevisionKeys {
  typealias Place = IndexKeyList.Place

  var list = IndexKeyList()
  /// For each index, the number of entries up to and including its last.
  private var ends: [Int] = []

  /// Removes all entries, but keeps their memory for another revision.
  ///
  /// - Parameter indexCount: the number of indexes. `endIndex` must be called for each.
  mutating func begin(indexCount: Int) {
    list.removeAll()
    ends.removeAll(keepingCapacity: true)
    ends.reserveCapacity(indexCount)
    list.reserveCapacity(indexCount)
  }

  /// Moves on to the next index.
  mutating func endIndex() { ends.append(list.places.count) }

  /// The entries of an index.
  func entries(ofIndex index: Int) -> ArraySlice<Place> {
    guard index < ends.count else { return [] }
    return list.places[(index == 0 ? 0 : ends[index - 1])..<ends[index]]
  }

  /// Returns whether an index has the same entry as another revision of the document.
  func contains(_ place: Place, of other: RevisionKeys, inIndex index: Int) -> Bool {
    for own in entries(ofIndex: index) where list.isEqual(own, place, of: other.list) { return true }
    return false
  }
}

/// The entries of a document before a change and after it.
struct ChangedKeys {
  var before = RevisionKeys()
  var after = RevisionKeys()
}
