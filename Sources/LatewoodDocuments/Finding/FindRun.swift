import LatewoodFleece
import LatewoodQuery
import LatewoodStore

/// One request being answered by one plan.
struct FindRun {
  private let reads: DocumentReads
  private let request: FindRequest
  private let plan: FindPlan
  /// Fewer entries are passed over one by one.
  private static let leastSkip = 16

  /// Documents that were looked at.
  private var seen = 0
  private var passed = 0
  private var taken = 0
  private var isEnded = false

  init(_ reads: DocumentReads, _ request: FindRequest, _ plan: FindPlan) {
    self.reads = reads
    self.request = request
    self.plan = plan
  }

  /// - Returns: how many documents were looked at.
  mutating func run(_ body: (FoundDocument) throws -> Bool) throws -> Int {
    switch (plan.access, plan.ordering) {
    case (.index(let access), .index(let isReversed)): try runByIndex(access, isReversed, body)
    case (_, .none): try forEachMatch { run, document in try run.take(document, body) }
    default: if request.order.isEmpty { try runByID(body) } else { try runSorted(body) }
    }
    return seen
  }

  /// Gives out a document, in order; false at the end.
  private mutating func take(_ document: FoundDocument, _ body: (FoundDocument) throws -> Bool) throws -> Bool
  {
    if passed < request.skip {
      passed += 1
      return true
    }
    taken += 1
    return try body(document) && taken < request.limit
  }

  // MARK: Orders

  /// Sorts all that matches by the order of the request.
  private mutating func runSorted(_ body: (FoundDocument) throws -> Bool) throws {
    var best = BestKeys(count: request.needed)
    try forEachMatch { run, document in
      best.add(try run.orderKey(of: document), document.id)
      return true
    }
    for id in best.ids().dropFirst(request.skip) {
      guard let head = try reads.head(of: id) else { continue }
      if try !reads.withDocument(id, head, body) { return }
    }
  }

  private func orderKey(of document: FoundDocument) throws -> [UInt8] {
    var key = CollationKey()
    for order in request.order {
      try document.withField(order.path) { lookup throws(FleeceError) in
        try key.append(lookup.value, descending: order.isDescending)
      }
    }
    return key.bytes
  }

  /// Sorts the ids of an index before it looks at a document.
  private mutating func runByID(_ body: (FoundDocument) throws -> Bool) throws {
    for id in try candidateIDs() where try !look(at: id, { run, document in try run.take(document, body) }) {
      return
    }
  }

  /// The index has the order. What is equal in it comes by id whatever the direction, and what is
  /// cut is put in order by its whole values: so runs of equal keys are read as a whole.
  private mutating func runByIndex(
    _ access: IndexAccess, _ isReversed: Bool, _ body: (FoundDocument) throws -> Bool
  ) throws {
    var run: [IndexEntry] = []
    // Forwards all but cut keys are in order already.
    try forEachEntry(access, in: try rangesAfterSkipping(access, isReversed), reversed: isReversed) {
      find, entry in
      if let last = run.last, last.key != entry.key || !(isReversed || last.isCut) {
        let goesOn = try find.takeRun(run, body)
        run.removeAll(keepingCapacity: true)
        if !goesOn { return false }
      }
      run.append(entry)
      return true
    }
    if !isEnded { _ = try takeRun(run, body) }
  }

  private mutating func takeRun(
    _ entries: [IndexEntry], _ body: (FoundDocument) throws -> Bool
  ) throws -> Bool {
    var ids = entries.map(\.id)
    if entries.count > 1 {
      if entries[0].isCut {
        var best = BestKeys(count: nil)
        for id in ids {
          guard let head = try reads.head(of: id) else { continue }
          best.add(try reads.withDocument(id, head) { document in try orderKey(of: document) }, id)
        }
        ids = best.ids()
      } else {
        ids.sort(by: BestKeys.isLess)
      }
    }
    for id in ids where try !look(at: id, { run, document in try run.take(document, body) }) {
      isEnded = true
      return false
    }
    return true
  }

  // MARK: Reading

  /// Gives the documents of the plan that match, in the order in which they are read.
  private mutating func forEachMatch(
    _ body: (inout FindRun, FoundDocument) throws -> Bool
  ) throws {
    switch plan.access {
    case .scan(let range):
      var query = DocumentQuery()
      query.range = range
      try reads.forEachDocument(query) { id, head in try match(id, head, body) }
    case .index(let access) where !access.bounds.mayRepeat:
      let ranges = request.order.isEmpty ? try rangesAfterSkipping(access, false) : access.ranges
      try forEachEntry(access, in: ranges) { run, entry in try run.look(at: entry.id, body) }
    default:
      for id in try candidateIDs() where try !look(at: id, body) { return }
    }
  }

  /// The documents of the plan, by id, each once.
  private mutating func candidateIDs() throws -> [String] {
    var ids: [String] = []
    let accesses: [IndexAccess] =
      switch plan.access {
      case .scan: []
      case .index(let access): [access]
      case .union(let accesses): accesses
      }
    for access in accesses {
      try forEachEntry(access, in: access.ranges) { _, entry in
        ids.append(entry.id)
        return true
      }
    }
    ids.sort(by: BestKeys.isLess)
    var different: [String] = []
    different.reserveCapacity(ids.count)
    for id in ids where different.last.map({ $0.utf8.elementsEqual(id.utf8) }) != true {
      different.append(id)
    }
    return different
  }

  private mutating func forEachEntry(
    _ access: IndexAccess, in ranges: [KeyRange], reversed: Bool = false,
    _ body: (inout FindRun, IndexEntry) throws -> Bool
  ) throws {
    var goesOn = true
    for range in reversed ? ranges.reversed() : ranges where goesOn {
      try reads.source.forEach(in: access.index.entries, range, reversed: reversed) { key, value in
        goesOn = try body(&self, try IndexEntry(key: key, value: value))
        return goesOn
      }
    }
  }

  /// Gives a document of an index if it matches.
  private mutating func look(
    at id: String, _ body: (inout FindRun, FoundDocument) throws -> Bool
  ) throws -> Bool {
    guard let head = try reads.head(of: id), !head.isDeleted else { return true }
    return try match(id, head, body)
  }

  private mutating func match(
    _ id: String, _ head: DocumentRecord.Head, _ body: (inout FindRun, FoundDocument) throws -> Bool
  ) throws -> Bool {
    seen += 1
    let (predicate, isCovered) = (request.predicate, plan.isCovered)
    return try reads.withDocument(id, head) { document in
      try isCovered || predicate.matches(document) ? try body(&self, document) : true
    }
  }
  // MARK: Skipping

  /// The ranges of a plan without entries that would be passed over, found by their rank. Those of
  /// one key stay together: what comes first among them is not told by the index.
  private mutating func rangesAfterSkipping(
    _ access: IndexAccess, _ isReversed: Bool
  ) throws -> [KeyRange] {
    guard plan.isCovered, request.skip > FindRun.leastSkip, try reads.expired(among: request.predicate) == 0
    else { return access.ranges }
    let (source, entries) = (reads.source, access.index.entries)
    var ranges = isReversed ? Array(access.ranges.reversed()) : access.ranges
    while let range = ranges.first {
      let count = try source.count(in: entries, range)
      let rest = request.skip - passed
      if rest >= count {
        passed += count
        ranges.removeFirst()
        continue
      }
      let place = isReversed ? count - 1 - rest : rest
      guard let key = try source.key(at: place, in: entries, range),
        let entry = try source.withValue(key, in: entries, { try IndexEntry(key: key.span.bytes, value: $0) })
      else { break }
      if case .none = plan.ordering {
        // All of it is by id.
        passed += rest
        ranges[0].lower = .included(key)
      } else if isReversed {
        let end = KeyRange.prefix(Array(entry.key)).upper
        if case .excluded(let bytes) = end {
          passed += try source.count(in: entries, KeyRange(lower: .included(bytes), upper: range.upper))
          ranges[0].upper = end
        }
      } else {
        passed += try source.count(
          in: entries, KeyRange(lower: range.lower, upper: .excluded(Array(entry.key))))
        ranges[0].lower = .included(Array(entry.key))
      }
      break
    }
    return isReversed ? ranges.reversed() : ranges
  }
}
