/// The changes of postings that a writer collects before it makes them, term by term.
///
/// Places are appended to one list in the order of documents. At the end, they are grouped by their
/// terms.
struct PendingPostings {
  /// The places of one document, up to an end in the list.
  private struct Update {
    var number: UInt64
    var end: Int
  }

  private var table = TermTable()
  private var updates: [Update] = []
  /// The number of the term of each place in `table`.
  private var terms: [UInt32] = []
  /// Places as in ``Postings``; the complement of a place that the document had before.
  private var places: [Int] = []

  /// The number of places.
  var count: Int { places.count }

  /// Begins the changes of a document. The postings of all terms that are mentioned are replaced.
  mutating func begin(_ number: UInt64) { updates.append(Update(number: number, end: places.count)) }

  /// Returns the number of a term.
  mutating func number(of term: UnsafeBufferPointer<UInt8>) -> Int { table.number(of: term) }

  /// Adds a place to the document, or notes that it had the place before. The places of a term are
  /// added in order, first those that it has.
  mutating func add(_ term: Int, _ place: Int, isOld: Bool = false) {
    terms.append(UInt32(truncatingIfNeeded: term))
    places.append(isOld ? ~place : place)
    updates[updates.count - 1].end = places.count
  }

  /// Calls a closure with the changes of each term, in the order of the bytes of terms.
  func forEachTerm(
    fieldCount: Int, _ body: (_ term: ArraySlice<UInt8>, TermChanges) throws -> Void
  ) rethrows {
    let groups = Groups(terms, places, updates.map(\.end), termCount: table.count)
    // Most terms change in a few documents, for which new arrays would take most of the time.
    var changes = TermChanges(fieldCount: fieldCount)
    var documents: [Document] = []
    for term in sortedTerms {
      let range = groups.range(of: term)
      guard !range.isEmpty else { continue }
      collect(groups, range, &documents, &changes)
      try body(table[term], changes)
    }
  }

  /// The new places of a document.
  private typealias Document = (number: UInt64, places: Range<Int>)

  private var sortedTerms: [Int] {
    /// The first bytes of each term decide most comparisons.
    let heads = (0..<table.count).map { (number) -> UInt64 in
      var head: UInt64 = 0
      for byte in table[number].prefix(8) { head = head << 8 | UInt64(byte) }
      return head << UInt64(8 * max(0, 8 - table[number].count))
    }
    return (0..<table.count).sorted {
      heads[$0] != heads[$1] ? heads[$0] < heads[$1] : table[$0].lexicographicallyPrecedes(table[$1])
    }
  }

  /// Places by their terms: a counting sort.
  private struct Groups {
    private var starts: [Int]
    /// The update of each place.
    private(set) var updates: [UInt32]
    private(set) var places: [Int]

    init(_ terms: [UInt32], _ unsorted: [Int], _ ends: [Int], termCount: Int) {
      starts = Array(repeating: 0, count: termCount + 1)
      for term in terms { starts[Int(term) + 1] += 1 }
      for term in 0..<termCount { starts[term + 1] += starts[term] }
      var next = starts
      updates = Array(repeating: 0, count: terms.count)
      places = Array(repeating: 0, count: terms.count)
      var index = 0
      for (update, end) in ends.enumerated() {
        while index < end {
          let target = next[Int(terms[index])]
          next[Int(terms[index])] = target + 1
          updates[target] = UInt32(truncatingIfNeeded: update)
          places[target] = unsorted[index]
          index += 1
        }
      }
    }

    func range(of term: Int) -> Range<Int> { starts[term]..<starts[term + 1] }
  }

  /// Replaces the changes by the changes of a term.
  ///
  /// - Parameter documents: an array to work with.
  private func collect(
    _ groups: Groups, _ range: Range<Int>, _ documents: inout [Document], _ changes: inout TermChanges
  ) {
    changes.removeAll()
    documents.removeAll(keepingCapacity: true)
    var isSorted = true
    var index = range.lowerBound
    while index < range.upperBound {
      let update = groups.updates[index]
      let start = index
      while index < range.upperBound, groups.updates[index] == update, groups.places[index] >= 0 {
        index += 1
      }
      let end = index
      while index < range.upperBound, groups.updates[index] == update { index += 1 }
      let number = updates[Int(update)].number
      changes.counts.count(groups.places[start..<end], 1)
      changes.counts.count(groups.places[end..<index], -1)
      if let last = documents.last, last.number >= number { isSorted = false }
      documents.append((number, start..<end))
    }
    if !isSorted { documents = PendingPostings.last(of: documents) }
    for document in documents {
      if document.places.isEmpty {
        changes.removed.append(document.number)
      } else {
        changes.postings.append(document.number, places: groups.places[document.places])
      }
    }
  }

  /// Returns documents in the order of numbers, and the last of those that are equal.
  private static func last(of documents: [Document]) -> [Document] {
    let order = documents.indices.sorted { (documents[$0].number, $0) < (documents[$1].number, $1) }
    var kept: [Document] = []
    for index in order {
      if kept.last?.number == documents[index].number { kept.removeLast() }
      kept.append(documents[index])
    }
    return kept
  }
}

extension TermCounts {
  /// Adds the places of one document, or subtracts them. Places may be complements.
  fileprivate mutating func count(_ places: ArraySlice<Int>, _ sign: Int) {
    guard !places.isEmpty else { return }
    documents += sign
    occurrences += sign * places.count
    var last = -1
    for place in places {
      let field = (place < 0 ? ~place : place) >> 40
      if field != last { fieldDocuments[field] += sign }
      last = field
    }
  }
}
