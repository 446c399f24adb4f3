/// Reads the terms of a recent segment in order.
struct SegmentCursor {
  private let space: any TextIndexSpace
  /// The beginning of the keys of the segment.
  private let start: [UInt8]
  private var value: [UInt8] = []
  /// The last term of the value, according to its key.
  private var lastTerm: [UInt8] = []
  /// The changes of the current term in `value`.
  private var body = 0..<0
  /// The values before the current one, and their length.
  private var passed: (terms: [[UInt8]], length: Int) = ([], 0)

  /// The current term, unless the cursor is at the end.
  private(set) var term: [UInt8] = []
  private(set) var isAtEnd = false

  /// Begins with a term, or the next one if the segment does not have it.
  init(_ number: UInt64, in space: any TextIndexSpace, from term: [UInt8]) throws {
    self.space = space
    start = TextIndexKey.recent(number, [])
    try readValue(from: start + term, isFirst: true)
    if !isAtEnd, self.term.lexicographicallyPrecedes(term) { try seek(term) }
  }

  /// Moves to the first term of the next value.
  private mutating func readValue(from key: [UInt8], isFirst: Bool) throws {
    let start = start
    var found: (term: [UInt8], value: [UInt8])?
    try space.forEach(from: key) { (key, value) in
      if key.starts(with: start) { found = (Array(key.dropFirst(start.count)), value) }
      return false
    }
    guard let (last, new) = found else {
      isAtEnd = true
      return
    }
    if new.isEmpty { throw TextIndexDamage("a recent segment has an empty value") }
    (lastTerm, value, body) = (last, new, 0..<0)
    try readTerm(sharing: false, isFirst: isFirst)
  }

  /// Moves to the next term.
  mutating func next() throws {
    if body.upperBound < value.count { return try readTerm(sharing: true, isFirst: false) }
    guard term == lastTerm else { throw SegmentCursor.wrongKey }
    passed.terms.append(lastTerm)
    passed.length += value.count
    try readValue(from: start + lastTerm + [0], isFirst: false)
  }

  /// - Parameter sharing: whether there is a term before it in the value.
  private mutating func readTerm(sharing: Bool, isFirst: Bool) throws {
    let end = value.count
    body = try IndexBytes.read(value, from: body.upperBound, what: "a recent segment") { (reader) in
      let shared = try reader.number(upTo: UInt64(sharing ? term.count : 0))
      let length = try reader.number(upTo: UInt64(TextAnalyzer.termLimit - shared))
      var suffix = try reader.part(length)
      try suffix.checkOrder(after: term, from: shared, isFirst: isFirst)
      term.cut(to: shared)
      try suffix.append(length, to: &term)
      let count = try reader.number(upTo: UInt64(reader.count))
      let start = end - reader.count
      return start..<(start + count)
    }
  }

  /// Moves from the first term of a value to a greater one, or to the next if the value does not
  /// have it.
  ///
  /// Only the number of bytes that a term has in common with the wanted one is known, so most terms
  /// are skipped without a look at them.
  private mutating func seek(_ wanted: [UInt8]) throws {
    var common = SegmentWriter.commonCount(term, wanted[...])
    let end = value.count
    let isLess = try IndexBytes.read(value, from: body.upperBound, what: "a recent segment") { (reader) in
      while reader.count > 0 {
        let shared = try reader.number(upTo: UInt64(TextAnalyzer.termLimit))
        let length = try reader.number(upTo: UInt64(TextAnalyzer.termLimit - shared))
        var suffix = try reader.part(length)
        let count = try reader.number(upTo: UInt64(reader.count))
        let start = end - reader.count
        _ = try reader.part(count)
        // With more bytes in common with the term before, it is less as well.
        if shared > common { continue }
        if shared == common, suffix.isLess(than: wanted, from: &common) { continue }
        term = Array(wanted[..<shared])
        try suffix.append(length, to: &term)
        body = start..<(start + count)
        return false
      }
      return true
    }
    if isLess { throw SegmentCursor.wrongKey }
  }

  private static let wrongKey = TextIndexDamage(
    "a value of a recent segment does not end in the term of its key")

  /// Adds the changes of the current term to earlier ones.
  func addChanges(to sum: inout TermChangesSum, withPlaces: Bool) throws {
    try IndexBytes.read(value, from: body.lowerBound, what: "a recent segment") { (reader) in
      var part = try reader.part(body.count)
      try sum.add(&part, withPlaces: withPlaces)
    }
  }

  /// The length of the changes of the current term.
  var changesLength: Int { body.count }

  /// The changes of the current term, encoded.
  var encodedChanges: ArraySlice<UInt8> { value[body] }

  // MARK: Comparing

  /// The first eight bytes of a term, as a number that has the order of the bytes.
  static func head(of term: ArraySlice<UInt8>) -> UInt64 {
    term.withUnsafeBytes { (bytes) in
      // SAFETY: eight bytes are read only from a term that has as many.
      if bytes.count >= 8 { return UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) }
      var (head, shift): (UInt64, UInt64) = (0, 64)
      for byte in bytes {
        shift -= 8
        head |= UInt64(byte) << shift
      }
      return head
    }
  }

  // MARK: Removing

  /// Removes the terms before the current one from the segment.
  ///
  /// - Returns: by how many bytes the values have become shorter.
  func removeRead(from space: any WritableTextIndexSpace) throws -> Int {
    for term in passed.terms { try space.delete(start + term) }
    guard !isAtEnd, body.lowerBound > 0 else { return passed.length }
    var rest: [UInt8] = []
    SegmentWriter.append(term, value[body], to: &rest)
    rest.append(contentsOf: value[body.upperBound...])
    guard rest.count < value.count else { return passed.length }
    try space.put(rest, for: start + lastTerm)
    return passed.length + value.count - rest.count
  }
}

/// Merges the changes of several segments, term by term.
struct SegmentMerger {
  /// From the oldest to the newest.
  private var cursors: [SegmentCursor] = []
  /// The cursors that are not at their ends: a heap, by their terms and then from the oldest.
  private var heap: [Entry] = []
  /// The changes of the term that was returned last.
  private(set) var changes: TermChanges
  /// That term.
  private var changedTerm: [UInt8] = []
  private var sum: TermChangesSum
  /// The length of all changes that were read, in bytes.
  private(set) var readLength = 0

  /// The index of a cursor, with what decides most comparisons of its term.
  private struct Entry {
    var cursor: Int
    var head: UInt64
    /// Whether `head` is the whole term.
    var isShort: Bool
  }

  init(_ numbers: [UInt64], in space: any TextIndexSpace, from term: [UInt8], fieldCount: Int) throws {
    changes = TermChanges(fieldCount: fieldCount)
    sum = TermChangesSum(fieldCount: fieldCount)
    for number in numbers {
      cursors.append(try SegmentCursor(number, in: space, from: term))
    }
    heap = cursors.indices.filter { !cursors[$0].isAtEnd }.map { entry(of: $0) }
    for index in heap.indices.reversed() { siftDown(index) }
  }

  /// The next term; nil at the end.
  var term: [UInt8]? { heap.first.map { cursors[$0.cursor].term } }

  private func entry(of cursor: Int) -> Entry {
    let term = cursors[cursor].term
    // No term has a byte 0, which fills up the heads of short ones.
    return Entry(cursor: cursor, head: SegmentCursor.head(of: term[...]), isShort: term.count <= 8)
  }

  /// Reads the changes of the next term, and moves on.
  ///
  /// - Parameter limit: the number of postings after which the changes of other segments are left
  ///   for another call.
  /// - Returns: the term, or nil at the end.
  mutating func next(limit: Int = Int.max, withPlaces: Bool) throws -> [UInt8]? {
    guard let first = heap.first else { return nil }
    // A copy of the bytes: the cursors change theirs in place.
    changedTerm.cut(to: 0)
    changedTerm.append(contentsOf: cursors[first.cursor].term)
    while let top = heap.first, isLevel(top, first), sum.postingCount < limit {
      readLength += cursors[top.cursor].changesLength
      try cursors[top.cursor].addChanges(to: &sum, withPlaces: withPlaces)
      try moveOn()
    }
    sum.moveTotal(to: &changes)
    return changedTerm
  }

  /// Whether a cursor is at the term of `changes`, of which an entry was at the head of the heap.
  private func isLevel(_ entry: Entry, _ first: Entry) -> Bool {
    guard entry.head == first.head, entry.isShort == first.isShort else { return false }
    return entry.isShort || cursors[entry.cursor].term == changedTerm
  }

  /// Whether two cursors are at the same term.
  private func areLevel(_ left: Entry, _ right: Entry) -> Bool {
    guard left.head == right.head, left.isShort == right.isShort else { return false }
    return left.isShort || cursors[left.cursor].term == cursors[right.cursor].term
  }

  /// Writes all terms. The changes of a term that only one segment has are copied unchanged.
  mutating func write(to writer: inout SegmentWriter) throws {
    while let top = heap.first {
      // An equal term is next to the root of the heap.
      if (1..<3).contains(where: { $0 < heap.count && areLevel(heap[$0], top) }) {
        guard let term = try next(withPlaces: true) else { return }
        try writer.append(term[...], changes)
      } else {
        let cursor = top.cursor
        try writer.append(cursors[cursor].term[...], encoded: cursors[cursor].encodedChanges)
        try moveOn()
      }
    }
  }

  /// Removes the terms that were read from the segments.
  ///
  /// - Returns: by how many bytes each segment has become shorter.
  func removeRead(from space: any WritableTextIndexSpace) throws -> [Int] {
    try cursors.map { try $0.removeRead(from: space) }
  }

  /// Moves the first cursor to its next term.
  private mutating func moveOn() throws {
    let cursor = heap[0].cursor
    try cursors[cursor].next()
    if cursors[cursor].isAtEnd {
      heap[0] = heap[heap.count - 1]
      heap.removeLast()
    } else {
      heap[0] = entry(of: cursor)
    }
    siftDown(0)
  }

  private mutating func siftDown(_ start: Int) {
    var index = start
    while true {
      var least = index
      let child = 2 * index + 1
      if child < heap.count, isBefore(heap[child], heap[least]) { least = child }
      if child + 1 < heap.count, isBefore(heap[child + 1], heap[least]) { least = child + 1 }
      if least == index { return }
      heap.swapAt(index, least)
      index = least
    }
  }

  private func isBefore(_ left: Entry, _ right: Entry) -> Bool {
    if left.head != right.head { return left.head < right.head }
    if !left.isShort || !right.isShort {
      let terms = (cursors[left.cursor].term, cursors[right.cursor].term)
      if terms.0 != terms.1 { return terms.0.lexicographicallyPrecedes(terms.1) }
    }
    return left.cursor < right.cursor
  }
}
