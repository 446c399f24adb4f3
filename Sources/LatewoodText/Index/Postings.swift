import LatewoodBytes

/// The documents with a term, and the places of the term in them: a block in memory, or all of a
/// list that a query has put together.
///
/// A block is encoded as the number of its postings and a *body*. The body follows without that
/// number in the entry of a term with few postings. All numbers have variable length (``Varint``).
///
/// ```
/// body      = [ field ] { posting } { places }
/// posting   = (gap - 1) * 2 + isUsual, then if it is not usual { shape }
/// shape     = ((frequency - 1) * fieldCount + field) * 2 + isFollowed
/// places    = first position { gap - 1 }                       for each field with the term
/// ```
///
/// - `field`, the usual field of the block, is there only if the index has several fields. A usual
///   posting has its term a single time, in this field.
/// - The gap of a posting is the difference from the number of the previous document, or from 0.
/// - The shapes of a posting are in the order of fields, one for each field with the term.
/// - The gap of a place is the difference from the previous position in the same field.
struct Postings: Equatable {
  let fieldCount: Int
  /// The numbers of the documents, in order.
  private(set) var numbers: [UInt64] = []
  /// How often the term is in each field of each document.
  private(set) var frequencies: [UInt32] = []
  /// The places in all documents, as they are encoded in a body: those who put postings together
  /// copy them. Empty if only frequencies are known.
  private(set) var places: [UInt8] = []
  /// The end in `places` of each document.
  private(set) var ends: [Int] = []

  init(fieldCount: Int) { self.fieldCount = fieldCount }

  /// The greatest position in a field.
  static let positionLimit = 1 << 40 - 1
  /// The maximum number of fields of an index.
  static let fieldLimit = 64
  /// The maximum number of postings in a block that a reader accepts.
  static let countLimit = 4096

  /// A position together with its field. Places are in the order of fields, then positions.
  static func place(_ field: Int, _ position: Int) -> Int { field << 40 + position }

  var count: Int { numbers.count }
  var isEmpty: Bool { numbers.isEmpty }

  func frequencies(at index: Int) -> ArraySlice<UInt32> {
    frequencies[(index * fieldCount)..<((index + 1) * fieldCount)]
  }

  /// Reads the places in a document, each with its field: see ``place(_:_:)``.
  ///
  /// - Throws: ``TextIndexDamage`` if they are too large.
  func places(at index: Int) throws -> [Int] {
    var result: [Int] = []
    try readPlaces(at: index, to: &result)
    return result
  }

  /// Appends the places in a document to an array.
  func readPlaces(at index: Int, to result: inout [Int]) throws {
    try IndexBytes.read(places, from: start(of: index), what: "postings") { (reader) in
      for field in 0..<fieldCount {
        let frequency = frequencies[index * fieldCount + field]
        if frequency > 0 { try Postings.readPlaces(&reader, field, frequency, to: &result) }
      }
    }
  }

  /// The offset in `places` of a document.
  private func start(of index: Int) -> Int { index == 0 ? 0 : ends[index - 1] }

  /// The length in `places` of some documents.
  private func placesLength(of range: Range<Int>) -> Int {
    range.isEmpty || ends.isEmpty ? 0 : ends[range.upperBound - 1] - start(of: range.lowerBound)
  }

  /// Returns the index of the first document whose number is not less than `number`, beginning the
  /// search at an index.
  func index(of number: UInt64, from start: Int = 0) -> Int {
    var (low, step) = (start, 1)
    while low + step < count, numbers[low + step] < number { (low, step) = (low + step, step * 2) }
    var high = min(count, low + step)
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  // MARK: Putting together

  /// Removes all documents, and keeps the memory for others.
  mutating func removeAll() {
    numbers.cut(to: 0)
    frequencies.cut(to: 0)
    places.cut(to: 0)
    ends.cut(to: 0)
  }

  /// Creates postings without documents, with memory for those of others and a part of more.
  init(for left: Postings, and right: Postings, _ range: Range<Int>) {
    fieldCount = left.fieldCount
    numbers.reserveCapacity(left.count + range.count)
    frequencies.reserveCapacity((left.count + range.count) * fieldCount)
    places.reserveCapacity(left.places.count + right.placesLength(of: range))
    ends.reserveCapacity(left.ends.count + (right.ends.isEmpty ? 0 : range.count))
  }

  /// Appends a document with its places.
  mutating func append(_ number: UInt64, places new: some Collection<Int>) {
    let start = frequencies.count
    numbers.append(number)
    frequencies.append(contentsOf: repeatElement(0, count: fieldCount))
    var before = -1
    for place in new {
      frequencies[start + place >> 40] += 1
      // The first place of a field is a position, the others are gaps.
      let isFirst = before < 0 || before >> 40 != place >> 40
      places.append(varint: UInt64(isFirst ? place & Postings.positionLimit : place - before - 1))
      before = place
    }
    ends.append(places.count)
  }

  /// Appends a document of other postings.
  mutating func append(_ other: Postings, at index: Int) { append(other, index..<(index + 1)) }

  /// Appends documents of other postings, which follow the documents here.
  mutating func append(_ other: Postings, _ range: Range<Int>) {
    guard !range.isEmpty else { return }
    numbers.append(other.numbers, range)
    frequencies.append(
      other.frequencies, (range.lowerBound * fieldCount)..<(range.upperBound * fieldCount))
    guard !other.ends.isEmpty else { return }
    let start = other.start(of: range.lowerBound)
    let difference = places.count - start
    places.append(other.places, start..<other.ends[range.upperBound - 1])
    for index in range { ends.append(other.ends[index] + difference) }
  }

  /// Appends a document with frequencies only.
  mutating func append(_ number: UInt64, frequencies new: some Collection<UInt32>) {
    numbers.append(number)
    frequencies.append(contentsOf: new)
  }

  /// Appends all documents of the next block.
  ///
  /// - Throws: ``TextIndexDamage`` if they do not follow the documents here.
  mutating func append(_ next: Postings) throws {
    if let last = numbers.last, let first = next.numbers.first, first <= last {
      throw TextIndexDamage("a block has a document of an earlier block")
    }
    append(next, 0..<next.count)
  }

  /// Returns the postings of documents with one term or the other.
  func union(_ other: Postings) throws -> Postings {
    var result = Postings(fieldCount: fieldCount)
    var (left, right) = (0, 0)
    while left < count || right < other.count {
      if right == other.count || (left < count && numbers[left] < other.numbers[right]) {
        result.append(self, at: left)
        left += 1
      } else if left == count || other.numbers[right] < numbers[left] {
        result.append(other, at: right)
        right += 1
      } else {
        if ends.isEmpty {
          let both = zip(frequencies(at: left), other.frequencies(at: right)).map { $0 &+ $1 }
          result.append(numbers[left], frequencies: both)
        } else {
          let both = try places(at: left) + other.places(at: right)
          result.append(numbers[left], places: both.sorted())
        }
        left += 1
        right += 1
      }
    }
    return result
  }

  /// Returns the postings of documents with one of several terms.
  ///
  /// Always merges the two shortest lists, so that a posting of a long list is seldom copied.
  static func union(_ lists: [Postings], fieldCount: Int) throws -> Postings {
    var short = lists.sorted { $0.count > $1.count }
    var merged: [Postings] = []
    var first = 0
    func next() -> Postings? {
      // Both lists of lists are in the order of their lengths, the merged ones from the front.
      if let last = short.last, first == merged.count || last.count <= merged[first].count {
        return short.popLast()
      }
      guard first < merged.count else { return nil }
      defer {
        merged[first] = Postings(fieldCount: fieldCount)
        first += 1
      }
      return merged[first]
    }
    while let left = next() {
      guard let right = next() else { return left }
      merged.append(try left.union(right))
    }
    return Postings(fieldCount: fieldCount)
  }

  // MARK: Encoding

  /// A length that the block of some documents usually does not exceed.
  fileprivate func lengthEstimate(_ range: Range<Int>) -> Int {
    (ends.isEmpty ? 4 : 3) * range.count + placesLength(of: range) + 4
  }

  /// Appends the body of a block.
  func encode(to bytes: inout [UInt8]) { encode(0..<count, to: &bytes) }

  /// Appends the body of a block of some of the documents.
  func encode(_ range: Range<Int>, to bytes: inout [UInt8]) {
    guard !range.isEmpty else { return }
    if fieldCount == 1 { encodeSingleField(range, to: &bytes) } else { encodeFields(range, to: &bytes) }
    guard !ends.isEmpty else { return }
    bytes.append(contentsOf: places[start(of: range.lowerBound)..<ends[range.upperBound - 1]])
  }

  private func encodeSingleField(_ range: Range<Int>, to bytes: inout [UInt8]) {
    var previous: UInt64 = 0
    for index in range {
      let (number, frequency) = (numbers[index], frequencies[index])
      bytes.append(varint: (number - previous - 1) << 1 | (frequency == 1 ? 1 : 0))
      if frequency != 1 { bytes.append(varint: UInt64(frequency - 1) << 1) }
      previous = number
    }
  }

  private func encodeFields(_ range: Range<Int>, to bytes: inout [UInt8]) {
    let usual = usualField(of: range)
    bytes.append(varint: UInt64(usual))
    var previous: UInt64 = 0
    for index in range {
      let frequencies = frequencies(at: index)
      var (last, total, field): (Int, UInt64, Int) = (0, 0, 0)
      for frequency in frequencies {
        if frequency > 0 {
          last = field
          total += UInt64(frequency)
        }
        field += 1
      }
      let isUsual = total == 1 && last == usual
      bytes.append(varint: (numbers[index] - previous - 1) << 1 | (isUsual ? 1 : 0))
      previous = numbers[index]
      guard !isUsual else { continue }
      field = 0
      for frequency in frequencies {
        if frequency > 0 {
          let shape = UInt64(frequency - 1) * UInt64(fieldCount) + UInt64(field)
          bytes.append(varint: shape << 1 | (field < last ? 1 : 0))
        }
        field += 1
      }
    }
  }

  /// The field that most of the documents with a single occurrence have it in.
  private func usualField(of range: Range<Int>) -> Int {
    var counts = [Int](repeating: 0, count: fieldCount)
    for index in range {
      let frequencies = frequencies(at: index)
      if frequencies.reduce(0, +) == 1, let field = frequencies.firstIndex(of: 1) {
        counts[field - frequencies.startIndex] += 1
      }
    }
    return counts.indices.max { counts[$0] < counts[$1] } ?? 0
  }

  /// Reads a body. See ``append(_:count:limit:withPlaces:)``.
  init(
    _ reader: inout IndexBytes, count: Int, limit: Int = Postings.countLimit, fieldCount: Int,
    withPlaces: Bool
  ) throws {
    self.init(fieldCount: fieldCount)
    try append(&reader, count: count, limit: limit, withPlaces: withPlaces)
  }

  /// Appends the postings of a body, whose documents usually follow those here. After an error, the
  /// postings cannot be used any more.
  ///
  /// - Parameters:
  ///   - count: the number of postings, at most `limit`.
  ///   - withPlaces: false to read only the frequencies. The reader is then at the places.
  mutating func append(
    _ reader: inout IndexBytes, count: Int, limit: Int = Postings.countLimit, withPlaces: Bool
  ) throws {
    guard count >= 1, count <= min(reader.count, limit) else {
      throw reader.damaged("it has \(count) postings")
    }
    let start = numbers.count
    numbers.append(contentsOf: repeatElement(0, count: count))
    // Most postings of a single field have the term once.
    frequencies.append(contentsOf: repeatElement(fieldCount == 1 ? 1 : 0, count: count * fieldCount))
    let total =
      fieldCount == 1
      ? try readSingleField(&reader, from: start) : try readFields(&reader, from: start)
    guard total <= reader.count else { throw reader.damaged("it ends before its last place") }
    if withPlaces { try appendPlaces(&reader, from: start) }
  }

  /// Reads postings of an index with one field.
  ///
  /// - Returns: the number of places.
  private mutating func readSingleField(_ reader: inout IndexBytes, from start: Int) throws -> Int {
    try numbers.withUnsafeMutableBufferPointer { (numbers) in
      try frequencies.withUnsafeMutableBufferPointer { (frequencies) in
        // SAFETY: both arrays have an element for each posting.
        var number: UInt64 = 0
        var more: UInt64 = 0
        for index in start..<numbers.count {
          let code = try reader.number()
          try Postings.advance(&number, by: code, reader)
          numbers[index] = number
          guard code & 1 == 0 else { continue }
          // A single shape.
          let shape = try reader.number()
          guard shape & 1 == 0, shape >> 1 < UInt64(min(reader.count, Int(UInt32.max))) else {
            throw reader.damaged("the frequency of a posting is too large")
          }
          frequencies[index] = UInt32(shape >> 1) + 1
          more += shape >> 1
          // Each place takes at least one byte.
          guard more <= UInt64(reader.count) else { throw reader.damaged("it ends before its last place") }
        }
        return numbers.count - start + Int(more)
      }
    }
  }

  /// Reads postings of an index with several fields.
  ///
  /// - Returns: the number of places.
  private mutating func readFields(_ reader: inout IndexBytes, from start: Int) throws -> Int {
    let usual = try reader.number(upTo: UInt64(fieldCount - 1))
    var number: UInt64 = 0
    var total = 0
    for index in start..<numbers.count {
      let code = try reader.number()
      try Postings.advance(&number, by: code, reader)
      numbers[index] = number
      if code & 1 == 0 {
        try readShapes(&reader, index * fieldCount, &total)
      } else {
        frequencies[index * fieldCount + usual] = 1
        total += 1
      }
    }
    return total
  }

  /// Moves to the number of the next document, whose difference is in the upper bits of a code.
  @inline(__always)
  private static func advance(_ number: inout UInt64, by code: UInt64, _ reader: IndexBytes) throws {
    number &+= code >> 1 &+ 1
    guard code < TextIndexKey.numberLimit << 1, number < TextIndexKey.numberLimit else {
      throw reader.damaged("the number of a document is too large")
    }
  }

  private mutating func readShapes(_ reader: inout IndexBytes, _ start: Int, _ total: inout Int) throws {
    var next = 0
    while true {
      let code = try reader.number()
      let (frequency, field) = (code >> 1).quotientAndRemainder(dividingBy: UInt64(fieldCount))
      guard Int(field) >= next, frequency < UInt64(reader.count) else {
        throw reader.damaged("the frequencies of a posting are not in order")
      }
      guard frequency < UInt64(UInt32.max), total <= reader.count else {
        throw reader.damaged("it ends before its last place")
      }
      frequencies[start + Int(field)] = UInt32(frequency) + 1
      total += Int(frequency) + 1
      next = Int(field) + 1
      if code & 1 == 0 { return }
    }
  }

  /// Copies the places to the end of a body, and finds the end of each document.
  private mutating func appendPlaces(_ reader: inout IndexBytes, from start: Int) throws {
    let difference = places.count + reader.count
    var rest = reader
    for index in start..<numbers.count {
      var count = Int(frequencies[index * fieldCount])
      for field in 1..<max(1, fieldCount) { count += Int(frequencies[index * fieldCount + field]) }
      try reader.skip(count)
      ends.append(difference - reader.count)
    }
    try reader.finish()
    try rest.append(rest.count, to: &places)
  }
}

extension Postings {
  /// Reads the places of a term in one field of a document.
  static func readPlaces(
    _ reader: inout IndexBytes, _ field: Int, _ count: UInt32, to places: inout [Int]
  ) throws {
    var position = -1
    for _ in 0..<count {
      let gap = try reader.number(upTo: UInt64(positionLimit))
      position += gap + 1
      guard position <= positionLimit else { throw reader.damaged("a position is too large") }
      places.append(place(field, position))
    }
  }
}

extension Array where Element: BitwiseCopyable {
  /// Appends a part of another array. A short part is faster element by element.
  @inline(__always) mutating func append(_ other: [Element], _ range: Range<Int>) {
    if range.count > 8 { return append(contentsOf: other[range]) }
    for index in range { append(other[index]) }
  }

  /// Removes all elements from an index on, and keeps the memory. A few are faster one by one.
  @inline(__always) mutating func cut(to count: Int) {
    if self.count - count > 16 { return removeLast(self.count - count) }
    while self.count > count { removeLast() }
  }
}

/// A block of postings in a separate entry.
enum PostingBlock {
  static func encode(_ postings: Postings) -> [UInt8] { encode(postings, 0..<postings.count) }

  /// Encodes a block of some of the documents.
  static func encode(_ postings: Postings, _ range: Range<Int>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(postings.lengthEstimate(range))
    bytes.append(varint: UInt64(range.count))
    postings.encode(range, to: &bytes)
    return bytes
  }

  static func decode(_ bytes: [UInt8], fieldCount: Int, withPlaces: Bool) throws -> Postings {
    try read(bytes, fieldCount: fieldCount, withPlaces: withPlaces).postings
  }

  /// Reads postings, and returns the offset of their places.
  private static func read(
    _ bytes: [UInt8], fieldCount: Int, withPlaces: Bool
  ) throws -> (postings: Postings, placesOffset: Int) {
    try IndexBytes.read(bytes, what: "a block of postings") { (reader) in
      let count = try reader.number(upTo: UInt64(Postings.countLimit))
      let postings = try Postings(&reader, count: count, fieldCount: fieldCount, withPlaces: withPlaces)
      return (postings, bytes.count - reader.count)
    }
  }

  static func read(
    _ term: [UInt8], _ bound: UInt64, from space: any TextIndexSpace, fieldCount: Int, withPlaces: Bool
  ) throws -> Postings {
    let bytes = try value(term, bound, from: space)
    return try check(try decode(bytes, fieldCount: fieldCount, withPlaces: withPlaces), bound)
  }

  /// Reads postings whose places are decoded when they are needed.
  static func readLazily(
    _ term: [UInt8], _ bound: UInt64, from space: any TextIndexSpace, fieldCount: Int
  ) throws -> (Postings, BlockPlaces) {
    let bytes = try value(term, bound, from: space)
    let (postings, offset) = try read(bytes, fieldCount: fieldCount, withPlaces: false)
    return (try check(postings, bound), BlockPlaces(bytes, offset, of: postings))
  }

  private static func value(
    _ term: [UInt8], _ bound: UInt64, from space: any TextIndexSpace
  ) throws -> [UInt8] {
    guard let bytes = try space.value(of: TextIndexKey.block(term, bound)) else {
      throw TextIndexDamage("a block of postings is missing")
    }
    return bytes
  }

  private static func check(_ postings: Postings, _ bound: UInt64) throws -> Postings {
    guard let last = postings.numbers.last, last <= bound else {
      throw TextIndexDamage("a block has a document that does not belong to it")
    }
    return postings
  }
}

/// The places of a block of postings, decoded for one document at a time, in order.
struct BlockPlaces {
  private let bytes: [UInt8]
  private let fieldCount: Int
  /// How often the term is in each field of each document.
  private let frequencies: [UInt32]
  /// The offset of the places of the document at `index`.
  private var offset: Int
  private var index = 0

  init(_ bytes: [UInt8], _ offset: Int, of postings: Postings) {
    self.bytes = bytes
    self.offset = offset
    fieldCount = postings.fieldCount
    frequencies = postings.frequencies
  }

  /// Appends the places in a document, whose index may not decrease, to an array.
  mutating func read(at wanted: Int, to places: inout [Int]) throws {
    offset = try IndexBytes.read(bytes, from: offset, what: "a block of postings") { (reader) in
      var count = 0
      for skipped in (index * fieldCount)..<(max(index, wanted) * fieldCount) {
        count += Int(frequencies[skipped])
      }
      if count > 0 { try reader.skip(count) }
      let start = bytes.count - reader.count
      for field in 0..<fieldCount {
        let frequency = frequencies[wanted * fieldCount + field]
        if frequency > 0 { try Postings.readPlaces(&reader, field, frequency, to: &places) }
      }
      return start
    }
    index = wanted
  }
}
