import LatewoodBytes

/// How often a term is in an index, or the difference that changes make to that.
struct TermCounts: Equatable {
  /// The number of documents with the term.
  var documents = 0
  /// How often all documents together have it.
  var occurrences = 0
  /// The number of documents with the term in each field.
  var fieldDocuments: [Int]

  /// The maximum of each number.
  static let limit = 1 << 48

  init(fieldCount: Int) { fieldDocuments = Array(repeating: 0, count: fieldCount) }

  mutating func removeAll() {
    (documents, occurrences) = (0, 0)
    for field in fieldDocuments.indices { fieldDocuments[field] = 0 }
  }

  /// Adds the frequencies of one document, or subtracts them.
  mutating func count(_ frequencies: ArraySlice<UInt32>, _ sign: Int) {
    documents += sign
    var field = 0
    for frequency in frequencies {
      if frequency > 0 {
        occurrences += sign * Int(frequency)
        fieldDocuments[field] += sign
      }
      field += 1
    }
  }

  /// Adds the frequencies of postings, or subtracts them.
  mutating func count(_ postings: Postings, _ sign: Int) {
    documents += sign * postings.count
    var field = 0
    for frequency in postings.frequencies {
      occurrences += sign * Int(frequency)
      if frequency > 0 { fieldDocuments[field] += sign }
      field = field + 1 == fieldDocuments.count ? 0 : field + 1
    }
  }

  static func + (left: TermCounts, right: TermCounts) -> TermCounts {
    var sum = left
    sum.documents += right.documents
    sum.occurrences += right.occurrences
    for field in sum.fieldDocuments.indices { sum.fieldDocuments[field] += right.fieldDocuments[field] }
    return sum
  }

  /// The counts with 0 in place of negative ones, which only damage causes.
  var notNegative: TermCounts {
    var result = self
    result.documents = max(0, documents)
    result.occurrences = max(0, occurrences)
    for field in result.fieldDocuments.indices {
      result.fieldDocuments[field] = max(0, fieldDocuments[field])
    }
    return result
  }

  // MARK: Encoding of differences

  /// Appends the numbers with their signs in the lowest bit. An index with one field leaves out the
  /// counts of fields.
  func encode(to bytes: inout [UInt8]) {
    bytes.append(varint: TermCounts.code(documents))
    bytes.append(varint: TermCounts.code(occurrences))
    guard fieldDocuments.count > 1 else { return }
    for count in fieldDocuments { bytes.append(varint: TermCounts.code(count)) }
  }

  /// Adds encoded differences.
  mutating func add(_ reader: inout IndexBytes) throws {
    let new = try TermCounts.difference(&reader)
    documents += new
    occurrences += try TermCounts.difference(&reader)
    guard fieldDocuments.count > 1 else {
      fieldDocuments[0] += new
      return
    }
    for field in fieldDocuments.indices { fieldDocuments[field] += try TermCounts.difference(&reader) }
  }

  private static func code(_ difference: Int) -> UInt64 {
    UInt64(difference.magnitude) << 1 | (difference < 0 ? 1 : 0)
  }

  private static func difference(_ reader: inout IndexBytes) throws -> Int {
    let code = try reader.number(upTo: UInt64(limit) << 1)
    return code & 1 == 0 ? code >> 1 : -(code >> 1)
  }
}
