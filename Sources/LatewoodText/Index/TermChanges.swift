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

  /// Memory for adding changes, which is kept for the changes of other terms: most terms have few,
  /// for which new arrays would take most of the time.
  struct Scratch {
    fileprivate var later: TermChanges
    fileprivate var postings: Postings
    fileprivate var removed: [UInt64] = []

    init(fieldCount: Int) {
      later = TermChanges(fieldCount: fieldCount)
      postings = Postings(fieldCount: fieldCount)
    }
  }

  /// Adds changes that were made after these.
  mutating func add(_ later: TermChanges) {
    var scratch = Scratch(fieldCount: postings.fieldCount)
    add(later, &scratch.postings, &scratch.removed)
  }

  /// - Parameters:
  ///   - spare: postings to work with.
  ///   - spareNumbers: numbers to work with.
  private mutating func add(
    _ later: TermChanges, _ spare: inout Postings, _ spareNumbers: inout [UInt64]
  ) {
    counts.add(later.counts)
    let isBehind = later.postings.numbers.first ?? 0 > postings.numbers.last ?? 0
    if removed.isEmpty, later.removed.isEmpty, isBehind {
      return postings.append(later.postings, 0..<later.postings.count)
    }
    spareNumbers.cut(to: 0)
    later.addRemoved(after: removed, to: &spareNumbers)
    swap(&removed, &spareNumbers)
    spare.removeAll()
    TermChanges.merge(
      postings, later.postings, 0..<later.postings.count, later.removed[...], into: &spare)
    swap(&postings, &spare)
  }

  /// Appends the documents that lose the term, here or by earlier changes which these do not
  /// replace.
  private func addRemoved(after earlier: [UInt64], to result: inout [UInt64]) {
    var next = 0
    for number in earlier {
      while next < removed.count, removed[next] < number {
        result.append(removed[next])
        next += 1
      }
      if !mention(number) { result.append(number) }
    }
    result.append(contentsOf: removed[next...])
  }

  /// Adds encoded changes that were made after these, up to the end of the reader. After an error,
  /// the changes cannot be used any more.
  mutating func add(_ reader: inout IndexBytes, withPlaces: Bool, _ scratch: inout Scratch) throws {
    if removed.isEmpty, let count = try laterCount(reader) {
      try counts.add(&reader)
      try reader.skip(2)
      return try postings.append(&reader, count: count, limit: Int.max, withPlaces: withPlaces)
    }
    if removed.isEmpty, postings.isEmpty, counts.isZero {
      return try read(&reader, withPlaces: withPlaces)
    }
    try scratch.later.read(&reader, withPlaces: withPlaces)
    add(scratch.later, &scratch.postings, &scratch.removed)
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
    self.init(fieldCount: fieldCount)
    try read(&reader, withPlaces: withPlaces)
  }

  /// Replaces the changes by encoded ones, up to the end of the reader.
  private mutating func read(_ reader: inout IndexBytes, withPlaces: Bool) throws {
    removeAll()
    try counts.add(&reader)
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
    guard postingCount > 0 else { return try reader.finish() }
    try postings.append(&reader, count: postingCount, limit: Int.max, withPlaces: withPlaces)
  }
}
