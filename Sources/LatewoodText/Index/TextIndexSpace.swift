/// The ordered keys and values that an index for words reads: a range of keys in a transaction or a
/// snapshot of a database, or an array in a test.
package protocol TextIndexSpace {
  /// Returns the value of a key, or nil if there is none.
  func value(of key: [UInt8]) throws -> [UInt8]?

  /// Calls a closure with entries in the order of their keys until it returns false, beginning with
  /// the first key that is not less than `key`.
  func forEach(from key: [UInt8], _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool) throws
}

/// The keys and values that an index changes. Reads see all changes that were made before.
package protocol WritableTextIndexSpace: TextIndexSpace {
  func put(_ value: [UInt8], for key: [UInt8]) throws
  /// Deletes a key, if there is one.
  func delete(_ key: [UInt8]) throws
}

/// An entry of an index for words that is missing, or is not as the index writes it.
package struct TextIndexDamage: Error, Equatable, CustomStringConvertible {
  package var reason: String

  package init(_ reason: String) { self.reason = reason }

  package var description: String { "The index for words is damaged: \(reason). Build it again" }
}

/// The sizes at which a writer divides the postings of a term. Readers also accept other sizes.
package struct TextIndexLimits: Sendable {
  /// The maximum number of postings in a block, at most 4,096.
  package var postings = 128
  /// The maximum length of a block with more than one posting, in bytes.
  package var blockLength = 2048
  /// The maximum length of a term's entry that contains the postings, in bytes.
  package var inlineLength = 512
  /// The maximum number of blocks in one part of a directory, at most 4,096.
  package var directoryBlocks = 64
  /// The length of recent changes with which a merge begins, in bytes; less in an index of fewer
  /// words than that. 0 to change the postings of terms in every transaction.
  package var recentLength = 16 << 20
  /// The length of the recent changes that a transaction puts into the postings of their terms
  /// during a merge, in bytes; twice its own changes, if these are longer.
  package var mergeLength = 64 << 10
  /// The number of changed places with which a transaction changes the postings of terms
  /// immediately, unless there are recent changes.
  package var directCount = 250_000

  package init() {}
}

/// The keys of an index for words.
///
/// The first byte of a key is its kind:
///
/// | key | value |
/// | --- | --- |
/// | `s` | ``TextStatistics`` |
/// | `i` document ID | number and lengths of fields: ``TextDocumentEntry`` |
/// | `n` number | document ID |
/// | `l` number of the page | lengths of 128 documents: ``TextLengths`` |
/// | `t` term | frequencies, and either the postings or nothing: ``TermEntry`` |
/// | `d` term `00` bound | a part of the term's directory of blocks: ``BlockDirectory`` |
/// | `p` term `00` bound | a block of postings: ``Postings`` |
/// | `r` | the list of recent segments: ``RecentSegments`` |
/// | `r` number term | changes in a segment: ``SegmentWriter`` |
///
/// The index gives each document a number, beginning with 1 and in the order of their first
/// insertion. A document keeps its number while it is in the index, and a number is not given
/// twice. Numbers in keys are in an order-preserving encoding: the number of bytes that follow,
/// then the number, most significant byte first and without leading zeros.
///
/// The key of a block has an upper *bound* of its documents, as does the key of a part of a
/// directory. A document belongs to the first block whose bound is not less than its number. The
/// bound of the last block is infinite, which is encoded as the byte `FF`, so that new documents
/// join the last block without changing its key.
///
/// Terms are at most 120 bytes of UTF-8 and do not contain the byte 0.
enum TextIndexKey {
  static let statistics: [UInt8] = [UInt8(ascii: "s")]

  /// A bound without documents behind it.
  static let infinite = UInt64.max
  /// The maximum number of a document.
  static let numberLimit: UInt64 = 1 << 48

  static let recent: [UInt8] = [UInt8(ascii: "r")]

  static func document(_ id: [UInt8]) -> [UInt8] { [UInt8(ascii: "i")] + id }

  static func id(of number: UInt64) -> [UInt8] { key(UInt8(ascii: "n"), number) }

  static func lengths(ofPage page: UInt64) -> [UInt8] { key(UInt8(ascii: "l"), page) }

  static func term(_ term: [UInt8]) -> [UInt8] { [UInt8(ascii: "t")] + term }

  static func directory(_ term: [UInt8], _ bound: UInt64) -> [UInt8] {
    key(UInt8(ascii: "d"), bound, term: term)
  }

  static func block(_ term: [UInt8], _ bound: UInt64) -> [UInt8] {
    key(UInt8(ascii: "p"), bound, term: term)
  }

  /// The key of the part of a recent segment that ends in a term.
  static func recent(_ number: UInt64, _ term: [UInt8]) -> [UInt8] {
    key(UInt8(ascii: "r"), number) + term
  }

  private static func key(_ kind: UInt8, _ number: UInt64, term: [UInt8]? = nil) -> [UInt8] {
    var key = [kind]
    if let term {
      key += term
      key.append(0)
    }
    guard number != infinite else { return key + [0xFF] }
    let count = max(1, (71 - number.leadingZeroBitCount) / 8)
    key.append(UInt8(count))
    for index in (0..<count).reversed() { key.append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
    return key
  }

  /// Returns the number at the end of a key, which begins at `start`.
  static func number(in key: [UInt8], from start: Int) throws -> UInt64 {
    guard start < key.count else { throw TextIndexDamage("a key ends early") }
    if key[start] == 0xFF, key.count == start + 1 { return infinite }
    let digits = key[(start + 1)...]
    guard digits.count == Int(key[start]), 1...7 ~= digits.count, digits.first != 0 || digits.count == 1
    else {
      throw TextIndexDamage("a key does not end in a number")
    }
    return digits.reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Calls a closure with the entries of a kind, without the byte of the kind, until it returns
  /// false.
  static func forEach(
    _ kind: Unicode.Scalar, from start: [UInt8] = [], in space: any TextIndexSpace,
    _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws {
    let kind = UInt8(ascii: kind)
    try space.forEach(from: [kind] + start) { (key, value) in
      guard key.first == kind else { return false }
      return try body(Array(key.dropFirst()), value)
    }
  }
}
