import LatewoodBytes

/// The numbers of an index as a whole.
///
/// ```
/// statistics = documentCount nextNumber fieldCount { length }
/// ```
package struct TextStatistics: Equatable, Sendable {
  /// The number of documents, including documents without words.
  package internal(set) var documentCount = 0
  /// The number for the next document that is inserted.
  package internal(set) var nextNumber: UInt64 = 1
  /// The number of words in each field of all documents together.
  package internal(set) var lengths: [Int]

  init(fieldCount: Int) { lengths = Array(repeating: 0, count: fieldCount) }

  package var totalLength: Int { lengths.reduce(0, +) }

  mutating func count(_ lengths: [Int], _ sign: Int) {
    documentCount += sign
    for (field, length) in lengths.enumerated() { self.lengths[field] += sign * length }
  }

  func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(varint: UInt64(max(0, documentCount)))
    bytes.append(varint: nextNumber)
    bytes.append(varint: UInt64(lengths.count))
    for length in lengths { bytes.append(varint: UInt64(max(0, length))) }
    return bytes
  }

  /// Reads the statistics of an index; an index without an entry for them is empty.
  static func read(from space: any TextIndexSpace, fieldCount: Int) throws -> TextStatistics {
    var statistics = TextStatistics(fieldCount: fieldCount)
    guard let bytes = try space.value(of: TextIndexKey.statistics) else { return statistics }
    try IndexBytes.read(bytes, what: "the statistics") { (reader) in
      statistics.documentCount = try reader.number(upTo: TextIndexKey.numberLimit)
      statistics.nextNumber = UInt64(try reader.number(upTo: TextIndexKey.numberLimit - 1))
      guard try reader.number() == UInt64(fieldCount), statistics.nextNumber > 0 else {
        throw reader.damaged("they are of an index with other fields")
      }
      for field in 0..<fieldCount {
        statistics.lengths[field] = try reader.number(upTo: 1 << 54)
      }
      try reader.finish()
    }
    return statistics
  }
}

/// The entry of a document: its number, and the length of each field in words.
///
/// ```
/// entry = number { length }
/// ```
///
/// The terms of a document are not stored. Who changes a document has its old text at hand, and the
/// index derives the terms from it again: a list of them would be as long as the postings.
struct TextDocumentEntry: Equatable {
  var number: UInt64
  var lengths: [Int]

  var length: Int { lengths.reduce(0, +) }

  init(number: UInt64, lengths: [Int]) {
    self.number = number
    self.lengths = lengths
  }

  func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(varint: number)
    for length in lengths { bytes.append(varint: UInt64(length)) }
    return bytes
  }

  init(_ bytes: [UInt8], fieldCount: Int) throws {
    self = try IndexBytes.read(bytes, what: "the entry of a document") { (reader) in
      let number = UInt64(try reader.number(upTo: TextIndexKey.numberLimit - 1))
      guard number > 0 else { throw reader.damaged("the number of a document is 0") }
      var lengths: [Int] = []
      for _ in 0..<fieldCount { lengths.append(try reader.number(upTo: UInt64(UInt32.max))) }
      try reader.finish()
      return TextDocumentEntry(number: number, lengths: lengths)
    }
  }
}

/// The lengths of all documents, in words, in pages of 128 neighbouring numbers.
///
/// A page is a list of lengths plus 1, or 0 for a number without a document. Zeros at the end are
/// left out.
struct TextLengths {
  private var pages: [UInt64: [Int]] = [:]
  /// The page that was read last; `UInt64.max` for none.
  private var recentPage = UInt64.max
  private var recentLengths: [Int] = []
  private var changed: Set<UInt64> = []

  static let pageCount: UInt64 = 128
  /// The number of pages that are kept.
  private static let pageLimit = 4096

  /// Returns the length of a document; nil if the number has no document.
  mutating func length(of number: UInt64, in space: any TextIndexSpace) throws -> Int? {
    let page = number / TextLengths.pageCount
    if recentPage != page {
      recentLengths = try lengths(ofPage: page, in: space)
      recentPage = page
    }
    let index = Int(number % TextLengths.pageCount)
    guard index < recentLengths.count, recentLengths[index] > 0 else { return nil }
    return recentLengths[index] - 1
  }

  private mutating func lengths(ofPage page: UInt64, in space: any TextIndexSpace) throws -> [Int] {
    if let known = pages[page] { return known }
    let bytes = try space.value(of: TextIndexKey.lengths(ofPage: page))
    let lengths = try bytes.map(TextLengths.decode) ?? []
    if pages.count >= TextLengths.pageLimit { pages = pages.filter { changed.contains($0.key) } }
    pages[page] = lengths
    return lengths
  }

  static func decode(_ bytes: [UInt8]) throws -> [Int] {
    try IndexBytes.read(bytes, what: "the lengths of documents") { (reader) in
      var lengths: [Int] = []
      while reader.count > 0 {
        guard lengths.count < pageCount else { throw reader.damaged("too many documents") }
        lengths.append(try reader.number(upTo: TextIndexKey.numberLimit))
      }
      return lengths
    }
  }

  /// Changes the length of a document; nil to remove it.
  mutating func set(_ length: Int?, of number: UInt64, in space: any TextIndexSpace) throws {
    let page = number / TextLengths.pageCount
    var lengths = try lengths(ofPage: page, in: space)
    pages[page] = nil
    let index = Int(number % TextLengths.pageCount)
    while lengths.count <= index { lengths.append(0) }
    lengths[index] = length.map { $0 + 1 } ?? 0
    while lengths.last == 0 { lengths.removeLast() }
    pages[page] = lengths
    changed.insert(page)
    recentPage = UInt64.max
  }

  /// Writes the pages that have changed.
  mutating func finish(in space: any WritableTextIndexSpace) throws {
    for page in changed.sorted() {
      let lengths = pages[page] ?? []
      let key = TextIndexKey.lengths(ofPage: page)
      guard !lengths.isEmpty else {
        try space.delete(key)
        continue
      }
      var bytes: [UInt8] = []
      for length in lengths { bytes.append(varint: UInt64(length)) }
      try space.put(bytes, for: key)
    }
    changed = []
  }
}

/// Reads the lengths of documents, usually in the order of their numbers.
///
/// A query needs few lengths of each page, so a page is not decoded as a whole.
struct TextLengthReader {
  private var page = UInt64.max
  private var bytes: [UInt8] = []
  /// The index in the page of the length that was read last, and its offset in `bytes`.
  private var last: (index: Int, offset: Int) = (0, 0)

  /// Returns the length of a document; nil if the number has no document.
  mutating func length(of number: UInt64, in space: any TextIndexSpace) throws -> Int? {
    let wanted = number / TextLengths.pageCount
    if page != wanted {
      bytes = try space.value(of: TextIndexKey.lengths(ofPage: wanted)) ?? []
      page = wanted
      last = (0, 0)
    }
    if bytes.isEmpty { return nil }
    let index = Int(number % TextLengths.pageCount)
    if index < last.index { last = (0, 0) }
    let (bytes, before) = (bytes, last)
    let found = try IndexBytes.read(bytes, from: before.offset, what: "the lengths of documents") {
      (reader) -> (offset: Int, length: Int)? in
      guard reader.skipThere(index - before.index), reader.count > 0 else { return nil }
      return (bytes.count - reader.count, try reader.number(upTo: TextIndexKey.numberLimit))
    }
    guard let found else { return nil }
    last = (index, found.offset)
    return found.length > 0 ? found.length - 1 : nil
  }
}
