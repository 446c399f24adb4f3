/// A term with its recent changes.
struct IndexedTerm {
  let bytes: [UInt8]
  /// The entry of the term. If it has postings, these include the recent changes.
  private(set) var entry: TermEntry
  /// Recent changes of postings in blocks.
  private(set) var changes: TermChanges?
  /// The counts with all changes.
  private(set) var counts: TermCounts

  /// - Parameters:
  ///   - value: the value of the entry; nil if only recent changes have the term.
  ///   - changes: all recent changes of the term.
  init(
    _ bytes: [UInt8], _ value: [UInt8]?, _ changes: TermChanges?, fieldCount: Int, withPlaces: Bool
  ) throws {
    self.bytes = bytes
    entry =
      try value.map { try TermEntry($0, fieldCount: fieldCount, withPlaces: withPlaces) }
      ?? TermEntry(Postings(fieldCount: fieldCount))
    counts = entry.counts
    guard let changes else { return }
    if let postings = entry.postings {
      entry = TermEntry(changes.applied(to: postings))
      counts = entry.counts
    } else {
      self.changes = changes
      counts = (counts + changes.counts).notNegative
    }
  }

  init(_ bytes: [UInt8], in reader: TextIndexReader, withPlaces: Bool) throws {
    try self.init(
      bytes, try reader.space.value(of: TextIndexKey.term(bytes)),
      try reader.recent.changes(
        of: bytes, in: reader.space, fieldCount: reader.fieldCount, withPlaces: withPlaces),
      fieldCount: reader.fieldCount, withPlaces: withPlaces)
  }

  /// Returns a cursor for the documents with the term.
  ///
  /// - Parameters:
  ///   - fields: whether each field is searched; nil if all are.
  ///   - rank: nil to find documents without their scores.
  func cursor(
    in space: any TextIndexSpace, fields: [Bool]?, withPlaces: Bool, rank: PhraseRank?
  ) throws -> any PhraseOccurrences {
    let cursor = try TermCursor(
      bytes, entry, in: space, fields: fields, withPlaces: withPlaces, rank: rank)
    guard let changes else { return cursor }
    return ChangedCursor(cursor, changes, estimate: counts.documents, fields: fields, rank: rank)
  }

  /// Returns all postings.
  func postings(in space: any TextIndexSpace, withPlaces: Bool) throws -> Postings {
    if let postings = entry.postings { return postings }
    let fieldCount = counts.fieldDocuments.count
    var postings = Postings(fieldCount: fieldCount)
    try BlockDirectory.forEachBlock(of: bytes, in: space, fieldCount: fieldCount) { (block, _) in
      try postings.append(
        try PostingBlock.read(
          bytes, block.bound, from: space, fieldCount: fieldCount, withPlaces: withPlaces))
    }
    return changes?.applied(to: postings) ?? postings
  }
}

extension TextIndexReader {
  /// Calls a closure with terms and their entries in the order of bytes, beginning with the first
  /// that is not less than `start`, until it returns false. Includes terms that documents had, but
  /// recent changes have removed.
  func forEachTerm(
    from start: [UInt8], withPlaces: Bool,
    _ body: (_ term: [UInt8], _ value: [UInt8]?, TermChanges?) throws -> Bool
  ) throws {
    guard !recent.isEmpty else {
      return try TextIndexKey.forEach("t", from: start, in: space) { try body($0, $1, nil) }
    }
    var merger = try SegmentMerger(
      recent.segments.map(\.number), in: space, from: start, fieldCount: fieldCount)
    var goesOn = true
    try TextIndexKey.forEach("t", from: start, in: space) { (term, value) in
      while goesOn, let next = merger.term, next.lexicographicallyPrecedes(term) {
        guard let new = try merger.next(withPlaces: withPlaces) else { break }
        goesOn = try body(new, nil, merger.changes)
      }
      guard goesOn else { return false }
      let isChanged = merger.term == term
      if isChanged { _ = try merger.next(withPlaces: withPlaces) }
      goesOn = try body(term, value, isChanged ? merger.changes : nil)
      return goesOn
    }
    while goesOn, let new = try merger.next(withPlaces: withPlaces) {
      goesOn = try body(new, nil, merger.changes)
    }
  }

  /// Returns the number of documents with a term. Does not decode its postings, only its recent
  /// changes.
  func documentCount(of term: [UInt8]) throws -> Int {
    let known = try space.value(of: TextIndexKey.term(term)).map { try TermEntry.documentCount(in: $0) } ?? 0
    if recent.isEmpty { return known }
    let changes = try recent.changes(of: term, in: space, fieldCount: fieldCount, withPlaces: false)
    return max(0, known + (changes?.counts.documents ?? 0))
  }

  /// Calls a closure with each term that documents have, as ``forEachTerm(from:withPlaces:_:)``,
  /// and the number of these documents.
  func forEachTermCount(
    from start: [UInt8], _ body: (_ term: [UInt8], _ documentCount: () throws -> Int) throws -> Bool
  ) throws {
    try forEachTerm(from: start, withPlaces: false) { (term, value, changes) in
      func count() throws -> Int {
        try (value.map { try TermEntry.documentCount(in: $0) } ?? 0) + (changes?.counts.documents ?? 0)
      }
      if changes != nil, try count() <= 0 { return true }
      return try body(term, count)
    }
  }
}
