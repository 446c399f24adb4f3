import LatewoodBytes

/// Documents that get other postings of a term, and documents that lose theirs.
///
/// ```
/// changes = difference of counts, removalCount { gap }, count, [ body ]
/// ```
///
/// The gap of a removal is the difference from the previous number less 1, or from 0. The body is
/// described in ``Postings``; it is absent if the count is 0.
struct TermChanges: Equatable {
  /// The new postings, each with all places in its document.
  var postings: Postings
  /// The numbers of the documents that no longer have the term, in order. They are not in
  /// `postings`.
  var removed: [UInt64] = []
  /// The differences that the changes make to the counts of the term.
  var counts: TermCounts

  init(fieldCount: Int) {
    postings = Postings(fieldCount: fieldCount)
    counts = TermCounts(fieldCount: fieldCount)
  }

  /// Removes all changes, and keeps the memory for others.
  mutating func removeAll() {
    postings.removeAll()
    removed.cut(to: 0)
    counts.removeAll()
  }

  /// Whether the changes determine the posting of a document.
  func mention(_ number: UInt64) -> Bool {
    TermChanges.contains(postings.numbers, number) || TermChanges.contains(removed, number)
  }

  private static func contains(_ numbers: [UInt64], _ number: UInt64) -> Bool {
    var (low, high) = (0, numbers.count)
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low < numbers.count && numbers[low] == number
  }

  /// Returns postings with the changes.
  func applied(to old: Postings) -> Postings {
    if old.isEmpty { return postings }
    var result = Postings(for: old, and: postings, 0..<postings.count)
    TermChanges.merge(old, postings, 0..<postings.count, removed[...], into: &result)
    return result
  }

  /// Appends postings to a result, of which those of some documents are replaced and those of
  /// others are removed.
  ///
  /// - Parameter range: the part of the new postings that is used.
  static func merge(
    _ old: Postings, _ new: Postings, _ range: Range<Int>, _ removed: ArraySlice<UInt64>,
    into result: inout Postings
  ) {
    if removed.isEmpty, !range.isEmpty, new.numbers[range.lowerBound] > old.numbers.last ?? 0 {
      result.append(old, 0..<old.count)
      return result.append(new, range)
    }
    var at = 0
    var removal = removed.startIndex
    var index = range.lowerBound
    while index < range.upperBound || removal < removed.endIndex {
      let added = index < range.upperBound ? new.numbers[index] : UInt64.max
      let lost = removal < removed.endIndex ? removed[removal] : UInt64.max
      let number = min(added, lost)
      let next = old.index(of: number, from: at)
      result.append(old, at..<next)
      at = next < old.count && old.numbers[next] == number ? next + 1 : next
      if added == number {
        // Up to the next document of either list.
        var end = index + 1
        let bound = min(at < old.count ? old.numbers[at] : UInt64.max, lost == number ? 0 : lost)
        while end < range.upperBound, new.numbers[end] < bound { end += 1 }
        result.append(new, index..<end)
        index = end
      }
      if lost == number { removal += 1 }
    }
    result.append(old, at..<old.count)
  }

  // MARK: Encoding

  func encode(to bytes: inout [UInt8]) {
    counts.encode(to: &bytes)
    bytes.append(varint: UInt64(removed.count))
    var previous: UInt64 = 0
    for number in removed {
      bytes.append(varint: number - previous - 1)
      previous = number
    }
    bytes.append(varint: UInt64(postings.count))
    if !postings.isEmpty { postings.encode(to: &bytes) }
  }

  /// Reads changes up to the end of the reader.
  init(_ reader: inout IndexBytes, fieldCount: Int, withPlaces: Bool) throws {
    var sum = TermChangesSum(fieldCount: fieldCount)
    try sum.add(&reader, withPlaces: withPlaces)
    self = sum.total()
  }
}

/// Adds up changes of a term that were made one after the other. The later ones replace the
/// earlier ones, document by document.
///
/// A sum keeps its memory for other terms: most have few changes, for which new arrays would take
/// most of the time.
struct TermChangesSum {
  private var changes: TermChanges
  /// The postings of all changes.
  private var postings: Postings
  /// All documents, in the order of changes; empty while there are only postings of documents in
  /// the order of their numbers.
  private var documents: [Document] = []

  private struct Document {
    var number: UInt64
    /// The index in `postings`; nil if the document loses the term.
    var index: Int?
  }

  init(fieldCount: Int) {
    changes = TermChanges(fieldCount: fieldCount)
    postings = Postings(fieldCount: fieldCount)
  }

  /// The number of postings, including postings that later ones replace.
  var postingCount: Int { postings.count }

  mutating func removeAll() {
    changes.removeAll()
    postings.removeAll()
    documents.cut(to: 0)
  }

  /// Adds encoded changes, up to the end of the reader. After an error, the sum cannot be used any
  /// more.
  mutating func add(_ reader: inout IndexBytes, withPlaces: Bool) throws {
    try changes.counts.add(&reader)
    let removedCount = try reader.number(upTo: UInt64(reader.count))
    if removedCount > 0 { listDocuments(from: documents.isEmpty ? 0 : postings.count) }
    var number: UInt64 = 0
    for _ in 0..<removedCount {
      number += try UInt64(reader.number(upTo: TextIndexKey.numberLimit)) + 1
      guard number < TextIndexKey.numberLimit else {
        throw reader.damaged("the number of a document is too large")
      }
      documents.append(Document(number: number, index: nil))
    }
    let count = try reader.number(upTo: UInt64(reader.count))
    guard count > 0 else { return try reader.finish() }
    let start = postings.count
    let last = postings.numbers.last ?? 0
    try postings.append(&reader, count: count, limit: Int.max, withPlaces: withPlaces)
    if !documents.isEmpty {
      listDocuments(from: start)
    } else if postings.numbers[start] <= last {
      listDocuments(from: 0)
    }
  }

  /// Appends postings to the list of documents.
  private mutating func listDocuments(from start: Int) {
    for index in start..<postings.count {
      documents.append(Document(number: postings.numbers[index], index: index))
    }
  }

  /// Returns the sum, which is then empty.
  mutating func total() -> TermChanges {
    var result = TermChanges(fieldCount: postings.fieldCount)
    moveTotal(to: &result)
    return result
  }

  /// Replaces changes by the sum, which is then empty.
  mutating func moveTotal(to result: inout TermChanges) {
    if documents.isEmpty {
      swap(&changes.postings, &postings)
    } else {
      sortDocuments()
      var index = 0
      while index < documents.count {
        let document = documents[index]
        index += 1
        // The last change of a document counts.
        if index < documents.count, documents[index].number == document.number { continue }
        guard let place = document.index else {
          changes.removed.append(document.number)
          continue
        }
        changes.postings.append(postings, place..<(place + 1))
      }
    }
    swap(&result, &changes)
    removeAll()
  }

  /// Sorts the documents by their numbers, and leaves those with the same number in order.
  private mutating func sortDocuments() {
    guard documents.count <= 40 else {
      let order = documents.indices.sorted {
        (documents[$0].number, $0) < (documents[$1].number, $1)
      }
      documents = order.map { documents[$0] }
      return
    }
    for index in documents.indices.dropFirst() {
      let document = documents[index]
      var place = index
      while place > 0, documents[place - 1].number > document.number {
        documents[place] = documents[place - 1]
        place -= 1
      }
      documents[place] = document
    }
  }
}
