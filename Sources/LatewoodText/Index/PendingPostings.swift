import LatewoodBytes

/// The changes of postings that a writer collects before it makes them, term by term.
///
/// Places are appended to one list in the order of documents. At the end, they are grouped by their
/// terms.
struct PendingPostings {
  private var table = TermTable()
  /// The numbers of documents, and where their places begin.
  private var updates: [(number: UInt64, start: Int)] = []
  /// The number of the term of each place in `table`.
  private var terms: [UInt32] = []
  /// Places as in ``Postings``; the complement of a place that the document had before.
  private var places: [Int] = []

  /// The number of places.
  var count: Int { places.count }

  /// Begins the changes of a document. The postings of all terms that are mentioned are replaced.
  mutating func begin(_ number: UInt64) { updates.append((number, places.count)) }

  /// Returns the number of a term.
  mutating func number(of term: UnsafeBufferPointer<UInt8>) -> Int { table.number(of: term) }

  /// Adds a place to the document, or notes that it had the place before. The places of a term are
  /// added in order, first those that it has.
  mutating func add(_ term: Int, _ place: Int, isOld: Bool = false) {
    terms.append(UInt32(truncatingIfNeeded: term))
    places.append(isOld ? ~place : place)
  }

  /// Calls a closure with the changes of each term, in the order of the bytes of terms.
  func forEachTerm(
    fieldCount: Int, _ body: (_ term: ArraySlice<UInt8>, TermChanges) throws -> Void
  ) rethrows {
    let groups = Groups(terms, places, updates.map(\.start), termCount: table.count)
    // Most terms change in a few documents, for which new arrays would take most of the time.
    var changes = TermChanges(fieldCount: fieldCount)
    var documents: [Document] = []
    for term in sortedTerms {
      let range = groups.range(of: term)
      guard !range.isEmpty else { continue }
      groups.places.withUnsafeBufferPointer { places in
        collect(groups.updates, places, range, &documents, &changes)
      }
      try body(table[term], changes)
    }
  }

  /// Writes the changes of all terms as a segment.
  func write(to writer: inout SegmentWriter, fieldCount: Int) throws {
    let groups = Groups(terms, places, updates.map(\.start), termCount: table.count)
    var insertions = InsertionEncoder()
    var changes = TermChanges(fieldCount: fieldCount)
    var documents: [Document] = []
    for term in sortedTerms {
      let range = groups.range(of: term)
      if range.isEmpty { continue }
      let isEncoded = groups.places.withUnsafeBufferPointer { places in
        if fieldCount == 1, insertions.encode(groups.updates, places, range, number: { updates[$0].number }) {
          return true
        }
        collect(groups.updates, places, range, &documents, &changes)
        return false
      }
      if isEncoded {
        try writer.append(table[term], encoded: insertions.encoded)
      } else {
        try writer.append(table[term], changes)
      }
    }
  }

  /// The new places of a document.
  private typealias Document = (number: UInt64, places: Range<Int>)

  /// The numbers of all terms, in the order of their bytes.
  private var sortedTerms: [Int] {
    let terms = (0..<table.count).map { (number: $0, head: SegmentCursor.head(of: table[$0])) }
    return terms.sorted { (left, right) in
      left.head != right.head
        ? left.head < right.head : table[left.number].lexicographicallyPrecedes(table[right.number])
    }.map(\.number)
  }

  /// Places by their terms: a counting sort.
  private struct Groups {
    private var starts: [Int]
    /// The update of each place.
    private(set) var updates: [UInt32]
    private(set) var places: [Int]

    init(_ terms: [UInt32], _ unsorted: [Int], _ documentStarts: [Int], termCount: Int) {
      starts = Array(repeating: 0, count: termCount + 1)
      for term in terms { starts[Int(term) + 1] += 1 }
      for term in 0..<termCount { starts[term + 1] += starts[term] }
      var next = starts
      updates = Array(repeating: 0, count: terms.count)
      places = Array(repeating: 0, count: terms.count)
      for (update, start) in documentStarts.enumerated() {
        let end = update + 1 < documentStarts.count ? documentStarts[update + 1] : terms.count
        for index in start..<end {
          let target = next[Int(terms[index])]
          next[Int(terms[index])] = target + 1
          updates[target] = UInt32(truncatingIfNeeded: update)
          places[target] = unsorted[index]
        }
      }
    }

    func range(of term: Int) -> Range<Int> { starts[term]..<starts[term + 1] }
  }

  /// Replaces the changes by the changes of a term.
  ///
  /// - Parameters:
  ///   - places: the places of all terms; those of the term are in `range`.
  ///   - documents: an array to work with.
  private func collect(
    _ groups: [UInt32], _ places: UnsafeBufferPointer<Int>, _ range: Range<Int>,
    _ documents: inout [Document], _ changes: inout TermChanges
  ) {
    changes.removeAll()
    documents.removeAll(keepingCapacity: true)
    var isSorted = true
    var index = range.lowerBound
    while index < range.upperBound {
      let update = groups[index]
      let start = index
      while index < range.upperBound, groups[index] == update, places[index] >= 0 { index += 1 }
      let end = index
      while index < range.upperBound, groups[index] == update { index += 1 }
      let number = updates[Int(update)].number
      // SAFETY: both ranges are parts of `range`, which is inside of the buffer.
      changes.counts.count(UnsafeBufferPointer(rebasing: places[start..<end]), 1)
      changes.counts.count(UnsafeBufferPointer(rebasing: places[end..<index]), -1)
      if let last = documents.last, last.number >= number { isSorted = false }
      documents.append((number, start..<end))
    }
    if !isSorted { documents = PendingPostings.last(of: documents) }
    for document in documents {
      if document.places.isEmpty {
        changes.removed.append(document.number)
      } else {
        changes.postings.append(
          document.number, places: UnsafeBufferPointer(rebasing: places[document.places]))
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

/// Encodes the changes of a term that inserts, in an index with one field, have made: all changes
/// of a build, and most of an import. See ``TermChanges``.
private struct InsertionEncoder {
  private var buffer: [UInt8] = []
  private var range = 0..<0

  /// The encoded changes.
  var encoded: ArraySlice<UInt8> { buffer[range] }

  /// The maximum length of a posting with one place, of the places beside it, and of what comes
  /// before the postings.
  private static let (postingLength, placeLength, headLength) = (16, 8, 40)

  /// - Parameters:
  ///   - updates: the index of the update of each place.
  ///   - number: returns the number of the document of an update.
  /// - Returns: false if a document had the term before, or documents are not in the order of
  ///   numbers.
  mutating func encode(
    _ updates: [UInt32], _ places: UnsafeBufferPointer<Int>, _ range: Range<Int>, number: (Int) -> UInt64
  ) -> Bool {
    let headLength = InsertionEncoder.headLength
    let placesStart = headLength + range.count * InsertionEncoder.postingLength
    let length = placesStart + range.count * InsertionEncoder.placeLength
    if buffer.count < length { buffer.append(contentsOf: repeatElement(0, count: length - buffer.count)) }
    let ends = buffer.withUnsafeMutableBytes { (bytes) -> Range<Int>? in
      guard let start = bytes.baseAddress else { return nil }
      // SAFETY: the buffer has room for the longest encoding of each posting and each place, and
      // for the numbers before them.
      var (posting, place) = (start + headLength, start + placesStart)
      var documents: UInt64 = 0
      var previous: UInt64 = 0
      var index = range.lowerBound
      while index < range.upperBound {
        let update = updates[index]
        let first = index
        var before = -1
        while index < range.upperBound, updates[index] == update {
          let position = places[index]
          if position < 0 { return nil }
          place += Varint.write(UInt64(position - before - 1), to: place)
          before = position
          index += 1
        }
        let number = number(Int(update))
        guard number > previous else { return nil }
        let frequency = UInt64(index - first)
        posting += Varint.write((number - previous - 1) << 1 | (frequency == 1 ? 1 : 0), to: posting)
        if frequency > 1 { posting += Varint.write((frequency - 1) << 1, to: posting) }
        previous = number
        documents += 1
      }
      let placesLength = place - (start + placesStart)
      posting.copyMemory(from: start + placesStart, byteCount: placesLength)
      posting += placesLength
      // The counts, no removals, and the number of postings.
      let head = [documents << 1, UInt64(range.count) << 1, 0, documents]
      var at = start + headLength - head.reduce(0) { $0 + Varint.length($1) }
      let first = at - start
      for number in head { at += Varint.write(number, to: at) }
      return first..<(posting - start)
    }
    if let ends { self.range = ends }
    return ends != nil
  }
}

extension TermCounts {
  /// Adds the places of one document, or subtracts them. Places may be complements.
  fileprivate mutating func count(_ places: UnsafeBufferPointer<Int>, _ sign: Int) {
    guard !places.isEmpty else { return }
    documents += sign
    occurrences += sign * places.count
    if fieldDocuments.count == 1 {
      fieldDocuments[0] += sign
      return
    }
    var last = -1
    for place in places {
      let field = (place < 0 ? ~place : place) >> 40
      if field != last { fieldDocuments[field] += sign }
      last = field
    }
  }
}
