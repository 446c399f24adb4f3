import LatewoodQuery
import LatewoodStore

/// One way to find the documents of a request. All ways lead to the same result.
struct FindPlan {
  enum Access {
    /// Every document in some ranges of ids, which are in order.
    case scan([KeyRange])
    /// The documents in a part of an index.
    case index(IndexScan)
    /// The documents in any of several parts.
    case union([IndexScan])
    /// The documents in a part of an index with few entries, which were read instead of counted.
    case candidates(IndexScan, ids: CandidateIDs)
    /// The documents with the words of a full-text index, which are in `words`.
    case words
  }

  enum Ordering {
    /// In the order of reading.
    case none
    /// By id or in the order of the request, by sorting after reading.
    case sorted
    /// In the order of the index, or of ids for a scan, read forwards or backwards.
    case index(isReversed: Bool)
    /// In the order of the leading parts of an index, read forwards or backwards. Entries that
    /// agree in these parts are collected and ordered by id.
    case leading(parts: Int, isReversed: Bool)
    /// By the scores of the words, the best first.
    case ranked
  }

  var access: Access
  /// The words that it reads, if `access` is `words`.
  ///
  /// Apart from the access, because most plans read no words, and copying the access costs more
  /// with each kind of content.
  var words: TextScan?
  var ordering: Ordering
  /// The number of entries or documents in its ranges.
  var candidates: Int
  /// The estimated number of documents to read.
  var cost: Double
  /// Whether it is a scan of exactly the requested documents.
  var isExactScan = false

  /// Whether it reads so few entries or documents that it need not be cancelled in between.
  var isShort: Bool { !isScan && (1...1000).contains(candidates) }

  /// Whether its candidates may not have been counted.
  var mayBeUncounted: Bool { isScan || candidates == 0 }

  var isScan: Bool { if case .scan = access { true } else { false } }

  /// Whether its entries are exactly the requested documents, each once.
  var isCovered: Bool {
    switch access {
    case .index(let access), .candidates(let access, _): access.isExact
    case .scan, .union, .words: false
    }
  }

  /// The words by whose scores documents are ordered; nil if they are ordered by something else.
  var ranked: TextScan? { if case .ranked = ordering { words } else { nil } }

  /// Whether it reads exactly the requested documents, each once.
  var isExact: Bool { isCovered || isExactScan || words?.rest.isEmpty == true }

  /// Whether documents are read in the order of an index.
  var isOrderOfIndex: Bool {
    if case (.index, .index) = (access, ordering) { true } else { false }
  }

  /// The parts of indexes to read.
  var accesses: [IndexScan] {
    switch access {
    case .scan, .words: []
    case .index(let access), .candidates(let access, _): [access]
    case .union(let accesses): accesses
    }
  }
}

/// A part of an index in one state of the database.
struct IndexScan {
  let part: CandidateIndex
  /// The ranges of the part, except those known to be empty.
  let ranges: [KeyRange]
  /// The number of entries in them; 0 if they were not counted.
  let candidates: Int
  /// Whether all entries match, and each document occurs once.
  let isExact: Bool

  var index: CollectionIndex { part.index }
  var bounds: IndexBounds { part.bounds }
  var isReversed: Bool? { part.isReversed }

  init(_ part: CandidateIndex, ranges: [KeyRange], candidates: Int, isExact: Bool) {
    self.part = part
    self.ranges = ranges
    self.candidates = candidates
    self.isExact = isExact
  }
}
