/// The changes of an index for words in one transaction.
///
/// A writer keeps the changes of postings in memory until ``finish()``, which then changes each
/// term once. Documents and their lengths are changed immediately. Reads in the same transaction
/// must wait for `finish()`.
///
/// A document has texts in each field of the index: one, several if the field is a list, or none.
/// Words of different texts are not neighbours: ``textGap`` positions are left free between two
/// texts.
package struct TextIndexWriter {
  /// The texts of a document, by field.
  package typealias Texts = [[String]]

  private let space: any WritableTextIndexSpace
  private let fieldCount: Int
  private let limits: TextIndexLimits
  private var analyzer: TextAnalyzer
  private var statistics: TextStatistics
  private var statisticsBefore: TextStatistics
  private var lengths = TextLengths()
  private var pending = PendingPostings()

  /// The number of positions between two texts of a field, more than the usual distance of `NEAR`.
  package static let textGap = 16

  /// Begins changes of an index.
  ///
  /// - Parameter fieldCount: the number of fields, at most ``fieldLimit``.
  package init(
    _ space: any WritableTextIndexSpace, fieldCount: Int, options: TextOptions,
    limits: TextIndexLimits = TextIndexLimits()
  ) throws {
    precondition(1...Postings.fieldLimit ~= fieldCount, "An index has 1 to \(Postings.fieldLimit) fields")
    self.space = space
    self.fieldCount = fieldCount
    self.limits = limits
    analyzer = TextAnalyzer(options)
    statistics = try TextStatistics.read(from: space, fieldCount: fieldCount)
    statisticsBefore = statistics
  }

  /// The maximum number of fields of an index.
  package static var fieldLimit: Int { Postings.fieldLimit }

  /// The number of changes and positions in memory. Each takes up to 100 bytes.
  package var pendingCount: Int { pending.count }

  /// Changes the texts of a document.
  ///
  /// Writes nothing if the texts are equal. Words of an unchanged field are read only if the
  /// document becomes shorter, because that improves the score of all its words.
  ///
  /// - Parameters:
  ///   - old: the texts that the index has of the document; nil to insert it.
  ///   - new: nil to remove the document.
  /// - Throws: ``TextIndexDamage`` if the index lacks the old document, already contains the new
  ///   one, or has another length for an old text.
  package mutating func change(_ id: [UInt8], from old: Texts?, to new: Texts?) throws {
    guard old != new else { return }
    let key = TextIndexKey.document(id)
    let known = try space.value(of: key).map { try TextDocumentEntry($0, fieldCount: fieldCount) }
    guard (known == nil) == (old == nil) else {
      throw TextIndexDamage(known == nil ? "a document is missing" : "a document is already there")
    }
    var entry = known ?? TextDocumentEntry(number: statistics.nextNumber, lengths: [])
    if let new, let old {
      try replace(&entry, old, new)
    } else if let new {
      insert(&entry, new)
    } else if let old {
      try remove(entry, old)
    }
    if let known { statistics.count(known.lengths, -1) }
    guard new != nil else {
      try space.delete(key)
      try space.delete(TextIndexKey.id(of: entry.number))
      return try lengths.set(nil, of: entry.number, in: space)
    }
    statistics.count(entry.lengths, 1)
    if known == nil {
      guard statistics.nextNumber < TextIndexKey.numberLimit - 1 else {
        throw TextIndexDamage("all numbers for documents are used up")
      }
      statistics.nextNumber += 1
      try space.put(id, for: TextIndexKey.id(of: entry.number))
    }
    guard entry != known else { return }
    try space.put(entry.encoded(), for: key)
    if entry.length != known?.length { try lengths.set(entry.length, of: entry.number, in: space) }
  }

  /// Makes the changes of postings, and writes the statistics.
  package mutating func finish() throws {
    try lengths.finish(in: space)
    if statistics != statisticsBefore {
      try space.put(statistics.encoded(), for: TextIndexKey.statistics)
      statisticsBefore = statistics
    }
    for term in pending.terms.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
      try TermUpdate.apply(
        term.sortedChanges, to: term.bytes, in: space, fieldCount: fieldCount, limits, &lengths)
    }
    pending = PendingPostings()
  }

  // MARK: Kinds of changes

  private mutating func insert(_ entry: inout TextDocumentEntry, _ texts: Texts) {
    for field in 0..<fieldCount {
      pending.begin()
      entry.lengths.append(
        forEachTerm(of: texts, field) { (pending, term, position) in
          pending.add(pending.index(of: term), entry.number, field, position: position)
        })
    }
  }

  private mutating func remove(_ entry: TextDocumentEntry, _ texts: Texts) throws {
    for field in 0..<fieldCount {
      pending.begin()
      let length = forEachTerm(of: texts, field) { (pending, term, _) in
        pending.clear(pending.index(of: term), entry.number, field)
      }
      try compare(length, with: entry, field)
    }
  }

  private mutating func replace(_ entry: inout TextDocumentEntry, _ old: Texts, _ new: Texts) throws {
    let before = entry
    /// The terms whose places stay the same, of all changed fields.
    var kept: [Int] = []
    let isSame = (0..<fieldCount).map { old.texts(of: $0) == new.texts(of: $0) }
    for field in 0..<fieldCount where !isSame[field] {
      let (oldPlaces, oldLength) = places(of: old, field)
      let (newPlaces, newLength) = places(of: new, field)
      try compare(oldLength, with: before, field)
      entry.lengths[field] = newLength
      pending.begin()
      for term in oldPlaces.keys where newPlaces[term] == nil {
        pending.clear(term, entry.number, field)
      }
      for (term, positions) in newPlaces {
        if oldPlaces[term] == positions {
          kept.append(term)
        } else {
          for position in positions { pending.add(term, entry.number, field, position: position) }
        }
      }
    }
    guard entry.length < before.length else { return }
    for field in 0..<fieldCount where isSame[field] {
      try compare(
        forEachTerm(of: old, field) { (pending, term, _) in kept.append(pending.index(of: term)) },
        with: before, field)
    }
    pending.begin()
    for term in kept { pending.clear(term, entry.number, PendingPostings.Change.lengthOnly) }
  }

  private func compare(_ length: Int, with entry: TextDocumentEntry, _ field: Int) throws {
    guard length == entry.lengths[field] else {
      throw TextIndexDamage("the old text of a document is not the text in the index")
    }
  }

  // MARK: Texts

  private mutating func places(of texts: Texts, _ field: Int) -> (places: [Int: [Int]], length: Int) {
    var places: [Int: [Int]] = [:]
    let length = forEachTerm(of: texts, field) { (pending, term, position) in
      places[pending.index(of: term), default: []].append(position)
    }
    return (places, length)
  }

  private mutating func forEachTerm(
    of texts: Texts, _ field: Int,
    _ body: (_ pending: inout PendingPostings, _ term: [UInt8], _ position: Int) -> Void
  ) -> Int {
    TextIndexWriter.forEachTerm(of: texts, field, &analyzer) { body(&pending, $0, $1) }
  }

  /// Calls a closure with the terms of a field and their positions.
  ///
  /// - Returns: the number of words.
  static func forEachTerm(
    of texts: Texts, _ field: Int, _ analyzer: inout TextAnalyzer,
    _ body: (_ term: [UInt8], _ position: Int) -> Void
  ) -> Int {
    var length = 0
    var start = 0
    for text in texts.texts(of: field) {
      let count = analyzer.forEachToken(of: text) { (token) in
        if token.kind != .stopWord { body(token.term, start + token.position) }
      }
      length += count
      start += count + textGap
    }
    return length
  }
}

extension TextIndexWriter.Texts {
  /// The texts of a field; empty for a field that is left out at the end.
  fileprivate func texts(of field: Int) -> [String] { field < count ? self[field] : [] }
}
