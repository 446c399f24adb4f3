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
  var counts: TermCounts
  /// The postings; nil if they are in blocks.
  var postings: Postings?

  /// An entry of blocks, which are still to be counted.
  init(fieldCount: Int) { counts = TermCounts(fieldCount: fieldCount) }

  init(_ postings: Postings) {
    self.init(fieldCount: postings.fieldCount)
    counts.count(postings, 1)
    self.postings = postings
  }

  func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    if let postings {
      TermEntry.encode(postings, to: &bytes)
      return bytes
    }
    bytes.append(varint: UInt64(max(0, counts.documents)) << 1 | 1)
    bytes.append(varint: UInt64(max(0, counts.occurrences)))
    if counts.fieldDocuments.count > 1 {
      for count in counts.fieldDocuments { bytes.append(varint: UInt64(max(0, count))) }
    }
    return bytes
  }

  /// Appends an entry with postings.
  static func encode(_ postings: Postings, to bytes: inout [UInt8]) {
    bytes.append(varint: UInt64(postings.count) << 1)
    postings.encode(to: &bytes)
  }

  /// Appends the postings of an entry, with their places, to none.
  ///
  /// - Returns: false if they are in blocks.
  static func read(_ bytes: [UInt8], to postings: inout Postings) throws -> Bool {
    try IndexBytes.read(bytes, what: "the entry of a term") { (reader) in
      let count = try documentCount(&reader)
      if count.isInBlocks { return false }
      try postings.append(&reader, count: count.documents, withPlaces: true)
      return true
    }
  }

  /// Reads an entry with everything in it.
  init(_ bytes: [UInt8], fieldCount: Int, withPlaces: Bool) throws {
    self = try IndexBytes.read(bytes, what: "the entry of a term") { (reader) in
      let count = try TermEntry.documentCount(&reader)
      guard count.isInBlocks else {
        return TermEntry(
          try Postings(&reader, count: count.documents, fieldCount: fieldCount, withPlaces: withPlaces))
      }
      var entry = TermEntry(fieldCount: fieldCount)
      entry.counts.documents = count.documents
      entry.counts.occurrences = try reader.number(upTo: UInt64(TermCounts.limit))
      if fieldCount > 1 {
        for field in 0..<fieldCount {
          entry.counts.fieldDocuments[field] = try reader.number(upTo: UInt64(count.documents))
        }
      } else {
        entry.counts.fieldDocuments[0] = count.documents
      }
      try reader.finish()
      return entry
    }
  }

  /// Reads only the number of documents.
  static func documentCount(in bytes: [UInt8]) throws -> Int {
    try IndexBytes.read(bytes, what: "the entry of a term") { (reader) in
      try documentCount(&reader).documents
    }
  }

  private static func documentCount(
    _ reader: inout IndexBytes
  ) throws -> (documents: Int, isInBlocks: Bool) {
    let head = try reader.number()
    guard head >> 1 <= UInt64(TermCounts.limit) else { throw reader.damaged("too many documents") }
    return (Int(head >> 1), head & 1 == 1)
  }
}
