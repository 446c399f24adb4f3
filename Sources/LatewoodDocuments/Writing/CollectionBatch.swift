/// The part of a batch in one collection: its state and its changes.
///
/// Only the thread of the batch uses it. Properties that lack the exclusivity check at run time are
/// safe: changing one never calls code that could use the same property.
final class CollectionBatch {
  let collection: CollectionHandle
  let spaces: CollectionSpaces
  let startState: CollectionState
  @exclusivity(unchecked) var state: CollectionState
  var indexes = Indexes.State()
  /// The full-text indexes in the state of the batch; nil if they are not loaded.
  var texts: [TextIndexBatch]?
  /// The views in the state of the batch; nil if they are not loaded.
  var views: [ViewBatch]?
  /// The changes, in order.
  @exclusivity(unchecked) private(set) var changes: [CollectionChange.Entry] = []
  /// The index in `changes` of the entry with a sequence; nil until a document changes again.
  @exclusivity(unchecked) private var places: [UInt64: Int]?
  private var replaced: Set<Int> = []

  init(_ collection: CollectionHandle, _ spaces: CollectionSpaces, _ state: CollectionState) {
    self.collection = collection
    self.spaces = spaces
    self.state = state
    startState = state
  }

  var name: String { collection.name }

  func takeSequence() -> UInt64 {
    state.lastSequence += 1
    return state.lastSequence
  }

  /// Records a change.
  ///
  /// - Parameter old: the previous sequence of the document.
  func changed(_ change: CollectionChange.Entry, old: UInt64?) {
    if let old, old > startState.lastSequence {
      var known = places.take() ?? placesBySequence()
      if let place = known.removeValue(forKey: old) { replaced.insert(place) }
      places = known
    }
    if let sequence = change.sequence { places?[sequence] = changes.count }
    changes.append(change)
  }

  private func placesBySequence() -> [UInt64: Int] {
    var places: [UInt64: Int] = [:]
    for (place, change) in changes.enumerated() {
      if let sequence = change.sequence { places[sequence] = place }
    }
    return places
  }

  /// The changes that were not replaced by a later change of the same batch.
  var newestChanges: [CollectionChange.Entry] {
    if replaced.isEmpty { return changes }
    return changes.enumerated().filter { !replaced.contains($0.offset) }.map(\.element)
  }
}
