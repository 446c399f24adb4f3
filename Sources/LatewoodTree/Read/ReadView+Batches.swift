import LatewoodBytes
import LatewoodFile

extension ReadView {
  /// Calls `body` with the entries of a range of full keys, in order and several at a time, until
  /// it returns false. The range includes `low` and excludes `high`.
  ///
  /// Up to 64 entries are read ahead. Before an error is thrown, `body` receives the entries that
  /// precede it. The bytes are valid during the call. This cannot be used for views whose memory
  /// may be released: see `isBuffered`. O(log n + entries).
  ///
  /// - Parameter dropped: the number of bytes to omit at the beginning of each key.
  package func scanBatches(
    low: UnsafeRawBufferPointer, high: UnsafeRawBufferPointer, dropping dropped: Int,
    _ body: (UnsafeBufferPointer<EntryBytes>) throws -> Bool
  ) throws {
    guard let lowStart = low.baseAddress, let highStart = high.baseAddress else { return }
    var batch = EntryBatch(dropping: dropped)
    var cursor = MergedCursor(self)
    var isEnded = false
    do {
      try cursor.position(lowStart, low.count)
      if var base = cursor.onlyBase(before: highStart, high.count) {
        isEnded = try !gatherBase(from: &base, highStart, high.count, &batch, body)
      } else {
        try cursor.settleForward()
        isEnded = try !gather(from: &cursor, highStart, high.count, &batch, body)
      }
    } catch let error as StorageError {
      guard try batch.pass(to: body) else { return }
      throw error
    }
    if !isEnded { _ = try batch.pass(to: body) }
  }

  /// Adds the entries from a cursor up to a full key to a batch, passing it on whenever it is full.
  /// Returns false if `body` does.
  private func gather(
    from cursor: inout MergedCursor, _ high: UnsafeRawPointer, _ highCount: Int,
    _ batch: inout EntryBatch, _ body: (UnsafeBufferPointer<EntryBytes>) throws -> Bool
  ) throws -> Bool {
    var isFirst = true
    while cursor.isValid {
      if let (leaf, wanted) = cursor.unmergedEntries(before: high, highCount, isFirst: isFirst) {
        guard try gather(leaf, wanted, &batch, body) else { return false }
        try cursor.passLeaf()
        continue
      }
      if let (leaf, wanted) = try cursor.unmergedReferences(before: high, highCount, isFirst: isFirst) {
        guard try gather(leaf, wanted, &batch, body) else { return false }
        if wanted.upperBound < leaf.count { return true }
        try cursor.passTakenLeaf()
        try cursor.settleForward()
        continue
      }
      if cursor.compareKey(high, highCount) >= 0 { return true }
      isFirst = false
      // Sources that must be merged are read entry by entry.
      guard try batch.pass(to: body) else { return false }
      // The value is read first: if it lies within the file, so does the key before it.
      let value = try cursor.value()
      try batch.addFirst(cursor.key, value)
      try cursor.next()
    }
    return true
  }

  /// Like `gather`, but only from the base tree.
  private func gatherBase(
    from cursor: inout BaseCursor, _ high: UnsafeRawPointer, _ highCount: Int,
    _ batch: inout EntryBatch, _ body: (UnsafeBufferPointer<EntryBytes>) throws -> Bool
  ) throws -> Bool {
    while cursor.isValid {
      let leaf = cursor.leaf
      let isLast = leaf.key(leaf.count &- 1).compare(high, highCount) >= 0
      let end = isLast ? leaf.lowerBound(high, highCount).index : leaf.count
      let wanted = cursor.index..<max(cursor.index, end)
      guard try gather(leaf, wanted, &batch, body) else { return false }
      if isLast { return true }
      _ = try cursor.nextLeaf()
    }
    return true
  }

  /// Adds entries of a leaf of the base tree to a batch. Returns false if `body` does.
  private func gather(
    _ leaf: Node, _ wanted: Range<Int>, _ batch: inout EntryBatch,
    _ body: (UnsafeBufferPointer<EntryBytes>) throws -> Bool
  ) throws -> Bool {
    var index = wanted.lowerBound
    while true {
      index = try batch.add(leaf, index..<wanted.upperBound, in: base.source.file)
      if index >= wanted.upperBound { return true }
      guard try batch.pass(to: body) else { return false }
    }
  }

  /// Adds the entries of a write buffer's leaf, except deletes, to a batch. Returns false if `body`
  /// does.
  private func gather(
    _ leaf: BufferNode, _ wanted: Range<Int>, _ batch: inout EntryBatch,
    _ body: (UnsafeBufferPointer<EntryBytes>) throws -> Bool
  ) throws -> Bool {
    var index = wanted.lowerBound
    while true {
      index = try batch.add(leaf, index..<wanted.upperBound, records, in: base.source.file)
      if index >= wanted.upperBound { return true }
      if batch.isFull {
        guard try batch.pass(to: body) else { return false }
      }
    }
  }
}
