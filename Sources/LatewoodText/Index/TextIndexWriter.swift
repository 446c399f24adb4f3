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
  private var recent: RecentSegments
  private var updates: TermUpdates

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
    recent = try RecentSegments.read(from: space)
    updates = TermUpdates(space, fieldCount: fieldCount, limits)
  }

  /// The maximum number of fields of an index.
  package static var fieldLimit: Int { Postings.fieldLimit }

  /// The number of changed positions in memory. Each takes 12 bytes, and as much again while the
  /// changes are made.
  package var pendingCount: Int { pending.count }

  /// Changes the texts of a document.
  ///
  /// Writes nothing if the texts are equal. If the document becomes shorter, all its postings are
  /// written, because that improves the score of all its words.
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

  /// Whether a writer moves recent changes to the postings of their terms.
  package enum Merging: Sendable {
    /// If they have become long.
    case whenLong
    /// Not yet, because the index is being built. Short segments are still merged into longer ones.
    case later
    /// No, because a step of a build has made them, and a merge follows.
    case never
  }

  /// Makes the changes of postings, and writes the statistics.
  ///
  /// A few changes become a recent segment: see ``RecentSegments``.
  ///
  /// - Parameter isDirect: whether any number of changes is made in the postings of the terms,
  ///   unless there are recent changes.
  package mutating func finish(_ merging: Merging = .whenLong, isDirect: Bool = false) throws {
    try lengths.finish(in: space)
    if statistics != statisticsBefore {
      try space.put(statistics.encoded(), for: TextIndexKey.statistics)
      statisticsBefore = statistics
    }
    guard pending.count > 0 else { return }
    let pending = pending
    self.pending = PendingPostings()
    let isLong = merging == .whenLong && pending.count >= limits.directCount
    if recent.isEmpty, isDirect || isLong || limits.recentLength == 0 {
      return try pending.forEachTerm(fieldCount: fieldCount) { try apply($1, to: Array($0)) }
    }
    let before = recent.length
    try recent.add(pending, to: space, fieldCount: fieldCount)
    let added = recent.length - before
    if merging == .never { return }
    if merging == .whenLong, recent.isMerging || recent.length > recentLimit {
      if limits.recentLength == 0 { return try mergeRecent() }
      try mergeRecent(max(limits.mergeLength, 2 * added))
    }
    try recent.mergeSimilar(in: space, fieldCount: fieldCount)
  }

  /// The length of recent changes with which a merge begins. The more of them there are for each
  /// block of postings, the less a change costs, but queries read them all.
  private var recentLimit: Int {
    min(limits.recentLength, max(limits.recentLength / 64, statistics.totalLength))
  }

  /// The number of recent segments.
  package var recentCount: Int { recent.segments.count }

  /// Whether recent changes are being moved to the postings of their terms.
  package var isMerging: Bool { recent.isMerging }

  /// Moves some of the recent changes to the postings of their terms. Call ``finish(_:isDirect:)``
  /// before.
  ///
  /// - Parameter budget: the length of the changes with which it ends, in bytes.
  package mutating func mergeRecent(_ budget: Int) throws {
    var recent = recent
    try recent.merge(budget, in: space, fieldCount: fieldCount) { try apply($1, to: $0) }
    self.recent = recent
  }

  /// Moves all recent changes to the postings of their terms, so that readers find everything in
  /// one place.
  package mutating func mergeRecent() throws {
    while !recent.isEmpty { try mergeRecent(Int.max) }
  }

  private mutating func apply(_ changes: TermChanges, to term: [UInt8]) throws {
    try updates.apply(changes, to: term, &lengths)
  }

  // MARK: Kinds of changes

  private mutating func insert(_ entry: inout TextDocumentEntry, _ texts: Texts) {
    pending.begin(entry.number)
    for field in 0..<fieldCount {
      entry.lengths.append(
        forEachTerm(of: texts, field) { (pending, term, position) in
          pending.add(pending.number(of: term), Postings.place(field, position))
        })
    }
  }

  private mutating func remove(_ entry: TextDocumentEntry, _ texts: Texts) throws {
    pending.begin(entry.number)
    for field in 0..<fieldCount {
      let length = forEachTerm(of: texts, field) { (pending, term, position) in
        pending.add(pending.number(of: term), Postings.place(field, position), isOld: true)
      }
      try compare(length, with: entry, field)
    }
  }

  private mutating func replace(_ entry: inout TextDocumentEntry, _ old: Texts, _ new: Texts) throws {
    let known = entry
    let (oldPlaces, oldLengths) = places(of: old)
    for field in 0..<fieldCount { try compare(oldLengths[field], with: known, field) }
    let (newPlaces, newLengths) = places(of: new)
    entry.lengths = newLengths
    let isShorter = entry.length < known.length
    pending.begin(entry.number)
    var (oldIndex, newIndex) = (0, 0)
    while oldIndex < oldPlaces.count || newIndex < newPlaces.count {
      let term = min(
        oldIndex < oldPlaces.count ? oldPlaces[oldIndex].term : Int.max,
        newIndex < newPlaces.count ? newPlaces[newIndex].term : Int.max)
      let oldEnd = oldPlaces[oldIndex...].firstIndex { $0.term != term } ?? oldPlaces.count
      let newEnd = newPlaces[newIndex...].firstIndex { $0.term != term } ?? newPlaces.count
      let (before, after) = (oldPlaces[oldIndex..<oldEnd], newPlaces[newIndex..<newEnd])
      (oldIndex, newIndex) = (oldEnd, newEnd)
      guard isShorter || !before.elementsEqual(after, by: { $0.place == $1.place }) else { continue }
      for place in after { pending.add(term, place.place) }
      for place in before { pending.add(term, place.place, isOld: true) }
    }
  }

  private func compare(_ length: Int, with entry: TextDocumentEntry, _ field: Int) throws {
    guard length == entry.lengths[field] else {
      throw TextIndexDamage("the old text of a document is not the text in the index")
    }
  }

  // MARK: Texts

  /// Returns the places of all terms in the order of terms, and the lengths of fields.
  private mutating func places(
    of texts: Texts
  ) -> (places: [(term: Int, place: Int)], lengths: [Int]) {
    var places: [Int] = []
    /// The term of each place, with the index of the place in the lower half.
    var order: [UInt64] = []
    var lengths: [Int] = []
    for field in 0..<fieldCount {
      lengths.append(
        forEachTerm(of: texts, field) { (pending, term, position) in
          order.append(UInt64(pending.number(of: term)) << 32 | UInt64(places.count))
          places.append(Postings.place(field, position))
        })
    }
    order.sort()
    return (order.map { (Int($0 >> 32), places[Int($0 & 0xFFFF_FFFF)]) }, lengths)
  }

  private mutating func forEachTerm(
    of texts: Texts, _ field: Int,
    _ body: (_ pending: inout PendingPostings, _ term: UnsafeBufferPointer<UInt8>, _ position: Int) -> Void
  ) -> Int {
    TextIndexWriter.forEachTerm(of: texts, field, &analyzer) { body(&pending, $0, $1) }
  }

  /// Calls a closure with the terms of a field and their positions.
  ///
  /// - Returns: the number of words.
  static func forEachTerm(
    of texts: Texts, _ field: Int, _ analyzer: inout TextAnalyzer,
    _ body: (_ term: UnsafeBufferPointer<UInt8>, _ position: Int) -> Void
  ) -> Int {
    var length = 0
    var start = 0
    for text in texts.texts(of: field) {
      let count = analyzer.forEachTerm(of: text) { (term, token) in
        if token.kind != .stopWord { body(term, start + token.position) }
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
