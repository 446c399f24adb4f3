import LatewoodStore
import LatewoodText

/// The part of a batch in one full-text index.
///
/// Changes of words are collected, and made together at the end of the batch, or before a query in
/// it: a term that is in many documents is then written once.
final class TextIndexBatch {
  var text: CollectionText
  private let transaction: Transaction
  /// Nil until the first change.
  private var writer: TextIndexWriter?
  /// The error of a change that was made in part. The batch cannot be committed then.
  private var failure: (any Error)?

  /// The number of changed positions in memory at which the changes are made: up to 50 MB.
  private static let pendingLimit = 2_000_000

  init(_ text: CollectionText, _ transaction: Transaction) {
    self.text = text
    self.transaction = transaction
  }

  /// Changes the texts of a document; nil where it is not in the index.
  func change(
    _ id: String, from old: TextIndexWriter.Texts?, to new: TextIndexWriter.Texts?
  ) throws {
    if old == new { return }
    try refuseAfterFailure()
    do {
      var changed = try writer.take() ?? newWriter()
      try changed.change(Array(id.utf8), from: old, to: new)
      writer = changed
    } catch {
      failure = error
      throw error
    }
    if let count = writer?.pendingCount, count >= TextIndexBatch.pendingLimit { try finish() }
  }

  /// Makes all changes.
  func finish() throws {
    guard let changed = writer.take() else { return try refuseAfterFailure() }
    try finish(changed, isComplete: false)
  }

  /// Makes all changes at the end of a build, also those that are still apart from the words.
  func complete() throws { try finish(try writer.take() ?? newWriter(), isComplete: true) }

  private func finish(_ writer: consuming TextIndexWriter, isComplete: Bool) throws {
    try refuseAfterFailure()
    do {
      try writer.finish()
      if isComplete { try writer.mergeRecent() }
    } catch {
      failure = error
      throw error
    }
  }

  private func refuseAfterFailure() throws {
    if let failure { throw failure }
  }

  private func newWriter() throws -> TextIndexWriter {
    try TextIndexWriter(
      WordChanges(transaction: transaction, words: text.words), fieldCount: text.definition.fields.count,
      options: text.definition.options)
  }

  /// Forgets all changes: the words are dropped.
  func abandon() { (writer, failure) = (nil, nil) }
}
