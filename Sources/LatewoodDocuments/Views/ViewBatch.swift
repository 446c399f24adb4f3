/// The part of a batch in one view.
final class ViewBatch {
  var view: CollectionView
  /// The keys of changed rows that the sums do not reflect yet.
  var unsummed: Set<[UInt8]> = []
  /// The stored record.
  private(set) var stored: ViewRecord?
  /// The map to run; nil if the program has not registered the version of these rows.
  let definition: ViewDefinition?
  /// Whether the view reflects every change of this batch and of earlier ones.
  var isKept: Bool

  init(_ view: CollectionView, _ definition: ViewDefinition?, isStored: Bool, isKept: Bool) {
    self.view = view
    self.definition = definition
    self.isKept = isKept
    stored = isStored ? view.record : nil
  }

  /// The record to store at the end of the batch; nil if it has not changed.
  ///
  /// - Parameter lastSequence: the last sequence of the collection.
  func changedRecord(through lastSequence: UInt64) -> ViewRecord? {
    if isKept { view.record.through = lastSequence }
    return view.record == stored ? nil : view.record
  }

  /// Records that the record has been stored.
  func noteStored() { stored = view.record }
}
