import LatewoodBytes

/// The recent changes of an index, which are not yet in the postings of their terms.
///
/// To change the postings of a term, a writer has to read and write a block of them. A text has a
/// hundred terms, so a small transaction does not do that. It writes a *segment*: its changes of
/// all terms, one after the other. Several segments of similar length are merged into one, which
/// keeps their number small. When all segments together become long, a *merge* makes their changes
/// in the postings of the terms, many for each block. It proceeds in the order of terms, a part in
/// each transaction, and removes the changes that it has made from the segments. Segments that are
/// added during a merge are left to the next one.
///
/// The build of an index is an external sort: each step writes a segment, and merges follow.
///
/// A reader looks for each term in all segments. The changes of a later segment replace those of an
/// earlier one, document by document.
///
/// ```
/// segments = nextNumber mergeEnd segmentCount { number length }         in the order of numbers
/// ```
///
/// `mergeEnd` is the number of the last segment of the current merge, or 0.
struct RecentSegments: Equatable {
  private(set) var segments: [Segment] = []
  private var nextNumber: UInt64 = 1
  /// The number of the last segment of the current merge; 0 if there is none.
  private var mergeEnd: UInt64 = 0

  struct Segment: Equatable {
    var number: UInt64
    /// The length of its values, in bytes.
    var length: Int
  }

  /// The number of segments of similar length that are merged.
  private static let mergeCount = 16
  /// The maximum number that a reader accepts.
  private static let countLimit: UInt64 = 1024

  /// The number of postings of a term that a merge makes at a time.
  private static let postingLimit = 100_000

  var isEmpty: Bool { segments.isEmpty }
  var isMerging: Bool { mergeEnd > 0 }
  var length: Int { segments.reduce(0) { $0 + $1.length } }

  // MARK: Reading

  static func read(from space: any TextIndexSpace) throws -> RecentSegments {
    var result = RecentSegments()
    guard let bytes = try space.value(of: TextIndexKey.recent) else { return result }
    try IndexBytes.read(bytes, what: "the list of recent segments") { (reader) in
      result.nextNumber = UInt64(try reader.number(upTo: TextIndexKey.numberLimit))
      result.mergeEnd = UInt64(try reader.number(upTo: TextIndexKey.numberLimit))
      guard result.mergeEnd < result.nextNumber else {
        throw reader.damaged("a merge is of segments that do not exist")
      }
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
    var sum: TermChangesSum?
    for segment in segments {
      let cursor = try SegmentCursor(segment.number, in: space, from: term)
      guard !cursor.isAtEnd, cursor.term == term else { continue }
      var changed = sum.take() ?? TermChangesSum(fieldCount: fieldCount)
      try cursor.addChanges(to: &changed, withPlaces: withPlaces)
      sum = changed
    }
    return sum?.total()
  }

  // MARK: Writing

  private func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(varint: nextNumber)
    bytes.append(varint: mergeEnd)
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
  mutating func add(
    _ pending: PendingPostings, to space: any WritableTextIndexSpace, fieldCount: Int
  ) throws {
    var writer = SegmentWriter(nextNumber, space)
    try pending.write(to: &writer, fieldCount: fieldCount)
    let length = try writer.finish()
    nextNumber += 1
    guard length > 0 else { return }
    segments.append(Segment(number: nextNumber - 1, length: length))
    try write(to: space)
  }

  /// Merges the newest segments into one, if there are many of similar length. Segments of the
  /// current merge are left out.
  mutating func mergeSimilar(in space: any WritableTextIndexSpace, fieldCount: Int) throws {
    while segments.count - mergedCount >= RecentSegments.mergeCount {
      let group = segments[(segments.count - RecentSegments.mergeCount)...]
      // An exponent of 16: the lengths of merged segments differ by that much.
      let sizes = group.map { ($0.length.bitWidth - $0.length.leadingZeroBitCount) / 4 }
      guard let newest = sizes.last, sizes.allSatisfy({ $0 <= newest }) else { return }
      var merger = try SegmentMerger(group.map(\.number), in: space, from: [], fieldCount: fieldCount)
      var writer = SegmentWriter(nextNumber, space)
      try merger.write(to: &writer)
      let merged = Segment(number: nextNumber, length: try writer.finish())
      nextNumber += 1
      for segment in group { try SegmentWriter.delete(segment.number, in: space) }
      segments.removeLast(RecentSegments.mergeCount)
      segments.append(merged)
      try write(to: space)
    }
  }

  /// The number of segments of the current merge.
  private var mergedCount: Int { segments.prefix { $0.number <= mergeEnd }.count }

  /// Performs a part of a merge, which begins with the segments that exist.
  ///
  /// - Parameters:
  ///   - budget: the length of the changes with which the part ends, in bytes.
  ///   - body: makes the changes of a term. It is called again for a term that has more of them.
  mutating func merge(
    _ budget: Int, in space: any WritableTextIndexSpace, fieldCount: Int,
    _ body: (_ term: [UInt8], TermChanges) throws -> Void
  ) throws {
    guard !isEmpty else { return }
    if mergeEnd == 0 { mergeEnd = nextNumber - 1 }
    let count = mergedCount
    var merger = try SegmentMerger(
      segments[..<count].map(\.number), in: space, from: [], fieldCount: fieldCount)
    while merger.readLength < budget,
      let term = try merger.next(limit: RecentSegments.postingLimit, withPlaces: true)
    {
      try body(term, merger.changes)
    }
    for (index, removed) in try merger.removeRead(from: space).enumerated() {
      guard removed <= segments[index].length else {
        throw TextIndexDamage("a recent segment has another length")
      }
      segments[index].length -= removed
    }
    segments.removeAll { $0.length == 0 }
    if mergedCount == 0 { mergeEnd = 0 }
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
  /// The value that is being written, and unused bytes after it.
  private var buffer: [UInt8] = []
  private var valueCount = 0
  private var last: [UInt8] = []
  private var body: [UInt8] = []
  private var length = 0

  /// The length at which a value ends.
  private static let valueLength = 6000
  /// The maximum length of the three numbers of a term.
  private static let headLength = 30

  init(_ number: UInt64, _ space: any WritableTextIndexSpace) {
    self.number = number
    self.space = space
  }

  mutating func append(_ term: ArraySlice<UInt8>, _ changes: TermChanges) throws {
    body.cut(to: 0)
    changes.encode(to: &body)
    try append(term, encoded: body[...])
  }

  mutating func append(_ term: ArraySlice<UInt8>, encoded changes: ArraySlice<UInt8>) throws {
    if valueCount >= SegmentWriter.valueLength { try writeValue() }
    let shared = valueCount == 0 ? 0 : SegmentWriter.commonCount(last, term)
    last.cut(to: shared)
    last.append(contentsOf: term.dropFirst(shared))
    let needed = valueCount + SegmentWriter.headLength + term.count + changes.count
    if buffer.count < needed {
      buffer.append(contentsOf: repeatElement(0, count: max(needed, buffer.count) - buffer.count + 4096))
    }
    let start = valueCount
    valueCount = buffer.withUnsafeMutableBytes { (buffer) in
      // SAFETY: the buffer has room for the term, its changes and three numbers.
      let target = UnsafeMutableRawBufferPointer(rebasing: buffer[start...])
      return start + SegmentWriter.write(term, sharing: shared, changes, to: target)
    }
  }

  static func commonCount(_ left: [UInt8], _ right: ArraySlice<UInt8>) -> Int {
    left.withUnsafeBufferPointer { (left) in
      right.withUnsafeBufferPointer { (right) in
        // SAFETY: the index is less than both counts.
        let end = min(left.count, right.count)
        var index = 0
        while index < end, left[index] == right[index] { index += 1 }
        return index
      }
    }
  }

  /// Writes a term of a value into a buffer that has room for it.
  ///
  /// - Parameter shared: the number of bytes in common with the term before.
  /// - Returns: the number of bytes.
  private static func write(
    _ term: ArraySlice<UInt8>, sharing shared: Int, _ changes: ArraySlice<UInt8>,
    to target: UnsafeMutableRawBufferPointer
  ) -> Int {
    guard let start = target.baseAddress else { return 0 }
    var at = start
    at += Varint.write(UInt64(shared), to: at)
    at += Varint.write(UInt64(term.count - shared), to: at)
    for byte in term.dropFirst(shared) {
      at.storeBytes(of: byte, as: UInt8.self)
      at += 1
    }
    at += Varint.write(UInt64(changes.count), to: at)
    changes.withUnsafeBytes {
      if let base = $0.baseAddress { at.copyMemory(from: base, byteCount: $0.count) }
    }
    return at - start + changes.count
  }

  /// Appends the first term of a value to bytes.
  static func append(_ term: [UInt8], _ changes: ArraySlice<UInt8>, to bytes: inout [UInt8]) {
    bytes.append(varint: 0)
    bytes.append(varint: UInt64(term.count))
    bytes.append(contentsOf: term)
    bytes.append(varint: UInt64(changes.count))
    bytes.append(contentsOf: changes)
  }

  private mutating func writeValue() throws {
    guard valueCount > 0 else { return }
    try space.put(Array(buffer[..<valueCount]), for: TextIndexKey.recent(number, last))
    length += valueCount
    valueCount = 0
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
