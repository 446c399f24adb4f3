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

  /// Makes all changes. Those of an index that is being built become recent segments, which the
  /// build merges.
  func finish() throws { try finish(text.isComplete ? .whenLong : .later, isDirect: false) }

  /// Makes all changes of a step of a build.
  ///
  /// - Parameter isLast: whether all documents are in the index.
  /// - Returns: whether changes are left that have to be merged.
  func finishStep(isLast: Bool) throws -> Bool {
    try finish(.never, isDirect: isLast)
    let writer = try newWriter()
    return writer.recentCount > 0
  }

  private func finish(_ merging: TextIndexWriter.Merging, isDirect: Bool) throws {
    guard let changed = writer.take() else { return try refuseAfterFailure() }
    try change(changed) { try $0.finish(merging, isDirect: isDirect) }
  }

  private func change(
    _ writer: consuming TextIndexWriter, _ body: (inout TextIndexWriter) throws -> Void
  ) throws {
    try refuseAfterFailure()
    do { try body(&writer) } catch {
      failure = error
      throw error
    }
  }

  /// Performs a part of the merge of a build, after ``finish()``.
  ///
  /// - Parameters:
  ///   - count: the number of segments with which a merge begins.
  ///   - length: the length of the changes with which the part ends, in bytes.
  /// - Returns: whether the merge has to continue; nil if there is nothing to merge. What others
  ///   add during a merge is not a part of it.
  func merge(from count: Int, length: Int) throws -> Bool? {
    try finish()
    var isMerging: Bool?
    let writer = try newWriter()
    guard writer.isMerging || writer.recentCount >= count else { return nil }
    try change(writer) { (writer) in
      try writer.mergeRecent(length)
      isMerging = writer.isMerging
    }
    return isMerging
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
