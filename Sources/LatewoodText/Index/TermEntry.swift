import LatewoodBytes

/// The entry of a term: its frequencies, and its postings if these are short.
///
/// ```
/// entry  = documents * 2, body                                 the postings are in the entry
///        | documents * 2 + 1, occurrences, { documents }       they are in blocks
/// ```
///
/// `documents` is the number of documents with the term, in all fields together and, if the index
/// has several fields, in each of them. `occurrences` is how often all documents together have it.
/// The body is described in ``Postings``, from which the frequencies of a short entry follow.
struct TermEntry: Equatable {
  var documentCount = 0
  var occurrenceCount = 0
  /// The number of documents with the term in each field.
  var fieldDocumentCounts: [Int]
  /// The postings; nil if they are in blocks.
  var postings: Postings?

  /// The maximum of each number.
  private static let limit: UInt64 = 1 << 48

  /// An entry of blocks, which are still to be counted.
  init(fieldCount: Int) { fieldDocumentCounts = Array(repeating: 0, count: fieldCount) }

  init(_ postings: Postings) {
    self.init(fieldCount: postings.fieldCount)
    count(postings, 1)
    self.postings = postings
  }

  /// Adds the frequencies of postings, or subtracts them.
  mutating func count(_ postings: Postings, _ sign: Int) {
    for index in postings.numbers.indices { count(postings.frequencies(at: index), sign) }
  }

  /// Adds the frequencies of one document, or subtracts them.
  mutating func count(_ frequencies: ArraySlice<UInt32>, _ sign: Int) {
    documentCount += sign
    for (field, frequency) in zip(0..., frequencies) where frequency > 0 {
      occurrenceCount += sign * Int(frequency)
      fieldDocumentCounts[field] += sign
    }
  }

  func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(varint: UInt64(max(0, documentCount)) << 1 | (postings == nil ? 1 : 0))
    if let postings {
      postings.encode(to: &bytes)
      return bytes
    }
    bytes.append(varint: UInt64(max(0, occurrenceCount)))
    if fieldDocumentCounts.count > 1 {
      for count in fieldDocumentCounts { bytes.append(varint: UInt64(max(0, count))) }
    }
    return bytes
  }

  /// Reads an entry with everything in it.
  init(_ bytes: [UInt8], fieldCount: Int, withPlaces: Bool) throws {
    self = try IndexBytes.read(bytes, what: "the entry of a term") { (reader) in
      let head = try reader.number()
      guard head >> 1 <= TermEntry.limit else { throw reader.damaged("too many documents") }
      let count = Int(head >> 1)
      guard head & 1 == 1 else {
        return TermEntry(
          try Postings(&reader, count: count, fieldCount: fieldCount, withPlaces: withPlaces))
      }
      var entry = TermEntry(fieldCount: fieldCount)
      entry.documentCount = count
      entry.occurrenceCount = try reader.number(upTo: TermEntry.limit)
      if fieldCount > 1 {
        for field in 0..<fieldCount {
          entry.fieldDocumentCounts[field] = try reader.number(upTo: UInt64(count))
        }
      } else {
        entry.fieldDocumentCounts[0] = count
      }
      try reader.finish()
      return entry
    }
  }

  /// Reads only the number of documents.
  static func documentCount(in bytes: [UInt8]) throws -> Int {
    try IndexBytes.read(bytes, what: "the entry of a term") { (reader) in
      Int(min(try reader.number() >> 1, limit))
    }
  }
}
