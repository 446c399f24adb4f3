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
    removed.removeAll(keepingCapacity: true)
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
    var result = Postings(for: old, and: postings)
    TermChanges.merge(old, postings, removed[...], into: &result)
    return result
  }

  /// Adds changes that were made after these.
  mutating func add(_ later: TermChanges) {
    counts = counts + later.counts
    if let last = postings.numbers.last, let first = later.postings.numbers.first, last < first,
      removed.isEmpty, later.removed.isEmpty
    {
      postings.append(later.postings, 0..<later.postings.count)
      return
    }
    var kept: [UInt64] = []
    for number in removed where !later.mention(number) { kept.append(number) }
    postings = later.applied(to: postings)
    removed = (kept + later.removed).sorted()
  }

  /// Adds encoded changes that were made after these, up to the end of the reader. After an error,
  /// the changes cannot be used any more.
  mutating func add(_ reader: inout IndexBytes, withPlaces: Bool) throws {
    guard removed.isEmpty, let count = try laterCount(reader) else {
      return add(try TermChanges(&reader, fieldCount: postings.fieldCount, withPlaces: withPlaces))
    }
    try counts.add(&reader)
    try reader.skip(2)
    try postings.append(&reader, count: count, limit: Int.max, withPlaces: withPlaces)
  }

  /// Returns the number of postings of encoded changes that only add documents after those here;
  /// nil for others.
  private func laterCount(_ reader: IndexBytes) throws -> Int? {
    var reader = reader
    let fieldCount = postings.fieldCount
    try reader.skip(TermCounts.integerCount(fieldCount: fieldCount))
    guard try reader.number() == 0 else { return nil }
    let count = try reader.number(upTo: UInt64(reader.count))
    guard count > 0,
      try postings.numbers.last ?? 0 < Postings.firstNumber(reader, fieldCount: fieldCount)
    else { return nil }
    return count
  }

  /// Appends postings to a result, of which those of some documents are replaced and those of
  /// others are removed.
  static func merge(
    _ old: Postings, _ new: Postings, _ removed: ArraySlice<UInt64>, into result: inout Postings
  ) {
    if removed.isEmpty, let first = new.numbers.first, first > old.numbers.last ?? 0 {
      result.append(old, 0..<old.count)
      return result.append(new, 0..<new.count)
    }
    var at = 0
    var removal = removed.startIndex
    var index = 0
    while index < new.count || removal < removed.endIndex {
      let added = index < new.count ? new.numbers[index] : UInt64.max
      let lost = removal < removed.endIndex ? removed[removal] : UInt64.max
      let number = min(added, lost)
      let next = old.index(of: number, from: at)
      result.append(old, at..<next)
      at = next < old.count && old.numbers[next] == number ? next + 1 : next
      if added == number {
        // Up to the next document of either list.
        var end = index + 1
        let bound = min(at < old.count ? old.numbers[at] : UInt64.max, lost == number ? 0 : lost)
        while end < new.count, new.numbers[end] < bound { end += 1 }
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
    self.init(fieldCount: fieldCount)
    counts = try TermCounts(&reader, fieldCount: fieldCount)
    let count = try reader.number(upTo: UInt64(reader.count))
    removed.reserveCapacity(count)
    var previous: UInt64 = 0
    for _ in 0..<count {
      previous += try UInt64(reader.number(upTo: TextIndexKey.numberLimit)) + 1
      guard previous < TextIndexKey.numberLimit else {
        throw reader.damaged("the number of a document is too large")
      }
      removed.append(previous)
    }
    let postingCount = try reader.number(upTo: UInt64(reader.count))
    guard postingCount > 0 else {
      try reader.finish()
      return
    }
    postings = try Postings(
      &reader, count: postingCount, limit: Int.max, fieldCount: fieldCount, withPlaces: withPlaces)
  }
}
