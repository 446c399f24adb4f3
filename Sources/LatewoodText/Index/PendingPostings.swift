/// The changes of postings that a writer collects before it makes them, term by term.
struct PendingPostings {
  /// What changes for a term in one field of one document.
  struct Change {
    var number: UInt64
    var field: Int
    /// The number of the call that it belongs to.
    var update: Int
    /// The end of its positions in the positions of the term.
    var end: Int

    /// Instead of a field: the length of the document has changed, and its places have not.
    static let lengthOnly = -1
  }

  /// The changes for a term, in the order in which they were made.
  struct Term {
    let bytes: [UInt8]
    fileprivate(set) var changes: [Change] = []
    fileprivate(set) var positions: [Int] = []

    fileprivate init(bytes: [UInt8]) { self.bytes = bytes }

    /// The last change for each field of each document, in the order of documents and fields.
    var sortedChanges: [TermUpdate.Change] {
      var result: [TermUpdate.Change] = []
      result.reserveCapacity(changes.count)
      var start = 0
      var isSorted = true
      for change in changes {
        if let last = result.last, (last.number, last.field) >= (change.number, change.field) {
          isSorted = false
        }
        result.append(
          TermUpdate.Change(
            number: change.number, field: change.field, positions: positions[start..<change.end]))
        start = change.end
      }
      if isSorted { return result }
      let order = result.indices.sorted {
        (result[$0].number, result[$0].field, $0) < (result[$1].number, result[$1].field, $1)
      }
      var sorted: [TermUpdate.Change] = []
      for index in order {
        if let last = sorted.last, (last.number, last.field) == (result[index].number, result[index].field) {
          sorted.removeLast()
        }
        sorted.append(result[index])
      }
      return sorted
    }
  }

  private(set) var terms: [Term] = []
  private var indices: [[UInt8]: Int] = [:]
  private var update = 0

  /// The number of changes and positions.
  private(set) var count = 0

  /// Begins the changes in one field of a document.
  mutating func begin() { update += 1 }

  /// Returns the index of a term in `terms`.
  mutating func index(of term: [UInt8]) -> Int {
    if let known = indices[term] { return known }
    indices[term] = terms.count
    terms.append(Term(bytes: term))
    return terms.count - 1
  }

  /// Adds a position of a term in a field of a document.
  mutating func add(_ index: Int, _ number: UInt64, _ field: Int, position: Int) {
    clear(index, number, field)
    let last = terms[index].changes.count - 1
    terms[index].positions.append(position)
    terms[index].changes[last].end += 1
    count += 1
  }

  /// Removes a term from a field of a document, apart from positions that are added afterwards.
  mutating func clear(_ index: Int, _ number: UInt64, _ field: Int) {
    guard terms[index].changes.last?.update != update else { return }
    terms[index].changes.append(
      Change(number: number, field: field, update: update, end: terms[index].positions.count))
    count += 1
  }
}
