import LatewoodBytes

/// The recent changes of an index, which are not yet in the postings of their terms.
///
/// To change the postings of a term, a writer has to read and write a block of them. A text has a
/// hundred terms, so a small transaction does not do that. It writes a *segment*: its changes of
/// all terms, one after the other. Several segments of similar length are merged into one, which
/// keeps their number small. When all segments together become long, their changes are made in the
/// postings of the terms, many for each block.
///
/// A reader looks for each term in all segments. The changes of a later segment replace those of an
/// earlier one, document by document.
///
/// ```
/// segments = nextNumber segmentCount { number length }         in the order of numbers
/// ```
struct RecentSegments: Equatable {
  private(set) var segments: [Segment] = []
  private var nextNumber: UInt64 = 1

  struct Segment: Equatable {
    var number: UInt64
    /// The length of its values, in bytes.
    var length: Int
  }

  /// The number of segments of similar length that are merged.
  private static let mergeCount = 8
  /// The maximum number that a reader accepts.
  private static let countLimit: UInt64 = 1024

  var isEmpty: Bool { segments.isEmpty }
  var length: Int { segments.reduce(0) { $0 + $1.length } }

  // MARK: Reading

  static func read(from space: any TextIndexSpace) throws -> RecentSegments {
    var result = RecentSegments()
    guard let bytes = try space.value(of: TextIndexKey.recent) else { return result }
    try IndexBytes.read(bytes, what: "the list of recent segments") { (reader) in
      result.nextNumber = UInt64(try reader.number(upTo: TextIndexKey.numberLimit))
      for _ in 0..<(try reader.number(upTo: countLimit)) {
        let number = UInt64(try reader.number(upTo: TextIndexKey.numberLimit))
        let length = try reader.number(upTo: 1 << 40)
        guard number > result.segments.last?.number ?? 0, number < result.nextNumber else {
          throw reader.damaged("they are not in order")
        }
        result.segments.append(Segment(number: number, length: length))
      }
      try reader.finish()
    }
    return result
  }

  /// Returns the changes of a term; nil if there are none.
  func changes(
    of term: [UInt8], in space: any TextIndexSpace, fieldCount: Int, withPlaces: Bool
  ) throws -> TermChanges? {
    var result: TermChanges?
    for segment in segments {
      var cursor = try SegmentCursor(segment.number, in: space, from: term)
      guard try cursor.seek(term) else { continue }
      let changes = try cursor.changes(fieldCount: fieldCount, withPlaces: withPlaces)
      if result == nil { result = changes } else { result?.add(changes) }
    }
    return result
  }

  // MARK: Writing

  private func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(varint: nextNumber)
    bytes.append(varint: UInt64(segments.count))
    for segment in segments {
      bytes.append(varint: segment.number)
      bytes.append(varint: UInt64(segment.length))
    }
    return bytes
  }

  private func write(to space: any WritableTextIndexSpace) throws {
    guard !isEmpty else { return try space.delete(TextIndexKey.recent) }
    try space.put(encoded(), for: TextIndexKey.recent)
  }

  /// Adds a segment of new changes.
  ///
  /// - Parameter write: calls a closure with the changes of each term, in order.
  mutating func add(
    to space: any WritableTextIndexSpace,
    _ write: (_ body: (ArraySlice<UInt8>, TermChanges) throws -> Void) throws -> Void
  ) throws {
    var writer = SegmentWriter(nextNumber, space)
    try write { try writer.append($0, $1) }
    let length = try writer.finish()
    nextNumber += 1
    guard length > 0 else { return }
    segments.append(Segment(number: nextNumber - 1, length: length))
    try self.write(to: space)
  }

  /// Merges the newest segments, if there are many of similar length.
  mutating func mergeSimilar(in space: any WritableTextIndexSpace, fieldCount: Int) throws {
    while segments.count >= RecentSegments.mergeCount {
      let group = segments[(segments.count - RecentSegments.mergeCount)...]
      // An exponent of 8: the lengths of merged segments differ by that much.
      let sizes = group.map { ($0.length.bitWidth - $0.length.leadingZeroBitCount) / 3 }
      guard let newest = sizes.last, sizes.allSatisfy({ $0 <= newest }) else { return }
      var merger = try SegmentMerger(group.map(\.number), in: space, from: [])
      var writer = SegmentWriter(nextNumber, space)
      try merger.write(to: &writer, fieldCount: fieldCount)
      let merged = Segment(number: nextNumber, length: try writer.finish())
      nextNumber += 1
      for segment in group { try SegmentWriter.delete(segment.number, in: space) }
      segments.removeLast(RecentSegments.mergeCount)
      segments.append(merged)
      try write(to: space)
    }
  }

  /// Calls a closure with all changes in the order of terms, and removes them.
  mutating func removeAll(
    from space: any WritableTextIndexSpace, fieldCount: Int,
    _ body: (_ term: [UInt8], TermChanges) throws -> Void
  ) throws {
    guard !isEmpty else { return }
    var merger = try SegmentMerger(segments.map(\.number), in: space, from: [])
    while let (term, changes) = try merger.next(fieldCount: fieldCount) { try body(term, changes) }
    for segment in segments { try SegmentWriter.delete(segment.number, in: space) }
    segments = []
    try write(to: space)
  }
}

/// Writes a segment: its terms in order, divided into values of some thousand bytes.
///
/// ```
/// value = { sharedCount suffixLength suffix length changes }   ``TermChanges`` of each term
/// ```
///
/// A term begins with `sharedCount` bytes of the previous term of the value. The key of a value has
/// its last term, so the first key that is not before a term leads to it.
struct SegmentWriter {
  private let number: UInt64
  private let space: any WritableTextIndexSpace
  private var value: [UInt8] = []
  private var last: [UInt8] = []
  private var body: [UInt8] = []
  private var length = 0

  /// The length at which a value ends.
  private static let valueLength = 6000

  init(_ number: UInt64, _ space: any WritableTextIndexSpace) {
    self.number = number
    self.space = space
  }

  mutating func append(_ term: ArraySlice<UInt8>, _ changes: TermChanges) throws {
    body.removeAll(keepingCapacity: true)
    changes.encode(to: &body)
    try append(term, encoded: body[...])
  }

  mutating func append(_ term: ArraySlice<UInt8>, encoded changes: ArraySlice<UInt8>) throws {
    if value.count >= SegmentWriter.valueLength { try writeValue() }
    var shared = 0
    if !value.isEmpty {
      for (left, right) in zip(last, term) {
        if left != right { break }
        shared += 1
      }
    }
    last.removeAll(keepingCapacity: true)
    last.append(contentsOf: term)
    value.append(varint: UInt64(shared))
    value.append(varint: UInt64(last.count - shared))
    value.append(contentsOf: last[shared...])
    value.append(varint: UInt64(changes.count))
    value.append(contentsOf: changes)
  }

  private mutating func writeValue() throws {
    guard !value.isEmpty else { return }
    try space.put(value, for: TextIndexKey.recent(number, last))
    length += value.count
    value.removeAll(keepingCapacity: true)
  }

  /// Writes the last value.
  ///
  /// - Returns: the length of the segment.
  mutating func finish() throws -> Int {
    try writeValue()
    return length
  }

  static func delete(_ number: UInt64, in space: any WritableTextIndexSpace) throws {
    let start = TextIndexKey.recent(number, [])
    var keys: [[UInt8]] = []
    try space.forEach(from: start) { (key, _) in
      guard key.starts(with: start) else { return false }
      keys.append(key)
      return true
    }
    for key in keys { try space.delete(key) }
  }
}

/// Reads the terms of a segment in order.
struct SegmentCursor {
  private let space: any TextIndexSpace
  /// The beginning of the keys of the segment.
  private let start: [UInt8]
  private var value: [UInt8] = []
  private var offset = 0
  /// The last term of the value, according to its key, and of the value before.
  private var lastTerm: [UInt8]?
  private var previousTerm: [UInt8]?
  /// The changes of the current term in `value`.
  private var body = 0..<0

  /// The current term; nil at the end.
  private(set) var term: [UInt8]?

  /// Begins with the first term of the value that has `term`, or that would have it.
  init(_ number: UInt64, in space: any TextIndexSpace, from term: [UInt8]) throws {
    self.space = space
    start = TextIndexKey.recent(number, [])
    try readValue(from: start + term)
    try next()
  }

  private mutating func readValue(from key: [UInt8]) throws {
    let start = start
    var found: (term: [UInt8], value: [UInt8])?
    try space.forEach(from: key) { (key, value) in
      if key.starts(with: start) { found = (Array(key.dropFirst(start.count)), value) }
      return false
    }
    (offset, term) = (0, nil)
    value = found?.value ?? []
    lastTerm = found?.term
    if found != nil, value.isEmpty { throw TextIndexDamage("a recent segment has an empty value") }
  }

  /// Moves to the next term.
  mutating func next() throws {
    if offset == value.count {
      guard let last = lastTerm else {
        term = nil
        return
      }
      guard value.isEmpty || term == nil || term == last else {
        throw TextIndexDamage("a value of a recent segment does not end in the term of its key")
      }
      if term != nil {
        previousTerm = last
        try readValue(from: start + last + [0])
        guard lastTerm != nil else { return }
      }
    }
    let floor = term ?? previousTerm
    let before = term
    (term, offset, body) = try IndexBytes.read(value, from: offset, what: "a recent segment") { (reader) in
      let shared = try reader.number(upTo: UInt64(before?.count ?? 0))
      let suffix = try reader.copy(try reader.number(upTo: UInt64(TextAnalyzer.termLimit)))
      let length = try reader.number(upTo: UInt64(reader.count))
      let start = value.count - reader.count
      let term = Array((before ?? [])[..<shared]) + suffix
      if let floor, !floor.lexicographicallyPrecedes(term) {
        throw reader.damaged("its terms are not in order")
      }
      guard term.count <= TextAnalyzer.termLimit else { throw reader.damaged("a term is too long") }
      return (term, start + length, start..<(start + length))
    }
  }

  /// Moves to a term.
  ///
  /// - Returns: false if the segment does not have it. The cursor is then at the next term.
  mutating func seek(_ wanted: [UInt8]) throws -> Bool {
    while let term, term.lexicographicallyPrecedes(wanted) { try next() }
    return term == wanted
  }

  /// The changes of the current term.
  func changes(fieldCount: Int, withPlaces: Bool) throws -> TermChanges {
    try IndexBytes.read(value, from: body.lowerBound, what: "a recent segment") { (reader) in
      var part = try reader.part(body.count)
      return try TermChanges(&part, fieldCount: fieldCount, withPlaces: withPlaces)
    }
  }

  /// The changes of the current term, encoded.
  var encodedChanges: ArraySlice<UInt8> { value[body] }

  /// Compares the current terms of two cursors. The end follows all terms.
  static func precedes(_ left: SegmentCursor, _ right: SegmentCursor) -> Bool {
    guard let term = left.term else { return false }
    return right.term.map { term.lexicographicallyPrecedes($0) } ?? true
  }
}

/// Merges the changes of several segments, term by term.
struct SegmentMerger {
  /// From the oldest to the newest.
  private var cursors: [SegmentCursor]
  /// The indices of the cursors that are at the next term, from the oldest to the newest.
  private var current: [Int] = []

  init(_ numbers: [UInt64], in space: any TextIndexSpace, from term: [UInt8]) throws {
    cursors = []
    for number in numbers {
      var cursor = try SegmentCursor(number, in: space, from: term)
      _ = try cursor.seek(term)
      cursors.append(cursor)
    }
    findCurrent()
  }

  /// The next term; nil at the end.
  var term: [UInt8]? { current.first.flatMap { cursors[$0].term } }

  private mutating func findCurrent() {
    current.removeAll(keepingCapacity: true)
    for index in cursors.indices where cursors[index].term != nil {
      if let first = current.first {
        if SegmentCursor.precedes(cursors[first], cursors[index]) { continue }
        if SegmentCursor.precedes(cursors[index], cursors[first]) {
          current.removeAll(keepingCapacity: true)
        }
      }
      current.append(index)
    }
  }

  /// Returns the changes of the next term, and moves on.
  mutating func next(fieldCount: Int, withPlaces: Bool = true) throws -> ([UInt8], TermChanges)? {
    guard let term else { return nil }
    let changes = try changes(fieldCount: fieldCount, withPlaces: withPlaces)
    try moveOn()
    return (term, changes)
  }

  private func changes(fieldCount: Int, withPlaces: Bool) throws -> TermChanges {
    var result = TermChanges(fieldCount: fieldCount)
    for (place, index) in current.enumerated() {
      let changes = try cursors[index].changes(fieldCount: fieldCount, withPlaces: withPlaces)
      if place == 0 { result = changes } else { result.add(changes) }
    }
    return result
  }

  private mutating func moveOn() throws {
    for index in current { try cursors[index].next() }
    findCurrent()
  }

  /// Writes all terms. The changes of a term that only one segment has are copied unchanged.
  mutating func write(to writer: inout SegmentWriter, fieldCount: Int) throws {
    while let term {
      if current.count == 1, let only = current.first {
        try writer.append(term[...], encoded: cursors[only].encodedChanges)
      } else {
        try writer.append(term[...], try changes(fieldCount: fieldCount, withPlaces: true))
      }
      try moveOn()
    }
  }
}
