import LatewoodFleece
import LatewoodQuery
import LatewoodStore

/// The execution of one request by one plan.
struct FindRun<Sink: FoundSink> {
  private let reads: DocumentReads
  private let request: FindRequest
  private let plan: FindPlan
  /// Fewer entries than this are skipped one by one.
  private static var leastSkip: Int { 16 }
  private var sink: Sink
  /// Whether the sink takes index entries instead of documents.
  private var isCovering = false
  /// The ids of expired documents, which indexes still contain. Only set if no documents are read:
  /// their heads would tell.
  private var expired: Set<String> = []

  /// The number of documents that were looked at.
  private var seen = 0
  private var passed = 0
  private var taken = 0
  private var isEnded = false

  init(_ reads: DocumentReads, _ request: FindRequest, _ plan: FindPlan, _ sink: Sink) {
    self.reads = reads
    self.request = request
    self.plan = plan
    self.sink = sink
  }

  /// - Returns: the number of documents that were looked at.
  mutating func run() throws -> Int {
    isCovering = plan.isCovered && sink.covers(plan.accesses[0].index.definition)
    if isCovering {
      expired = Set(try reads.expired().map { String(decoding: $0, as: UTF8.self) })
    }
    switch (plan.access, plan.ordering) {
    case (.index(let access), .index(let isReversed)): try runByIndex(access, isReversed)
    case (.index(let access), .none):
      let ranges = try rangesAfterSkipping(access, false)
      try forEachEntry(access, in: ranges) { run, entry in try run.take(entry) }
    case (_, .none): try forEachMatch { run, document in try run.take(document) }
    default: if request.order.isEmpty { try runByID() } else { try runSorted() }
    }
    return seen
  }

  /// Passes the next document in order to the sink, unless it is to be skipped; returns false at
  /// the end.
  private mutating func take(_ document: FoundDocument) throws -> Bool {
    if passed < request.skip {
      passed += 1
      return true
    }
    taken += 1
    return try sink.take(document) && taken < request.limit
  }

  /// Passes the entry of the next document to the sink, or the document itself if it is needed.
  private mutating func take(_ entry: IndexEntry) throws -> Bool {
    if isCovering {
      if expired.contains(entry.id) { return true }
      if passed < request.skip {
        passed += 1
        return true
      }
      if let goesOn = try sink.take(entry) {
        taken += 1
        return goesOn && taken < request.limit
      }
    }
    return try look(at: entry.id) { run, document in try run.take(document) }
  }

  // MARK: Orders

  /// Sorts all matches by the order of the request.
  private mutating func runSorted() throws {
    var best = BestKeys(count: request.needed)
    try forEachMatch { run, document in
      best.add(try document.key(for: run.request.order), document.id)
      return true
    }
    for id in best.ids().dropFirst(request.skip) {
      guard let head = try reads.head(of: id) else { continue }
      if try !reads.withDocument(id, head, { document in try sink.take(document) }) { return }
    }
  }

  /// Sorts the ids of an index before reading any document.
  private mutating func runByID() throws {
    if isCovering {
      var entries: [IndexEntry] = []
      for access in plan.accesses {
        try forEachEntry(access, in: access.ranges) { _, entry in
          entries.append(entry)
          return true
        }
      }
      entries.sort { BestKeys.isLess($0.id, $1.id) }
      for entry in entries where try !take(entry) { return }
      return
    }
    for id in try candidateIDs() where try !look(at: id, { run, document in try run.take(document) }) {
      return
    }
  }

  /// Reads in the order of the index. Entries with equal keys come by id in either direction, and
  /// those whose keys are cut are sorted by their whole values, so a run of equal keys is read as a
  /// whole.
  private mutating func runByIndex(_ access: IndexAccess, _ isReversed: Bool) throws {
    var run: [IndexEntry] = []
    // Forwards, all but cut keys are in order already.
    try forEachEntry(access, in: try rangesAfterSkipping(access, isReversed), reversed: isReversed) {
      find, entry in
      if let last = run.last, last.key != entry.key || !(isReversed || last.isCut) {
        let goesOn = try find.takeRun(run)
        run.removeAll(keepingCapacity: true)
        if !goesOn { return false }
      }
      run.append(entry)
      return true
    }
    if !isEnded { _ = try takeRun(run) }
  }

  private mutating func takeRun(_ entries: [IndexEntry]) throws -> Bool {
    var entries = entries
    if entries.count > 1 {
      if entries[0].isCut {
        try sortByValues(&entries)
      } else {
        entries.sort { BestKeys.isLess($0.id, $1.id) }
      }
    }
    for entry in entries where try !take(entry) {
      isEnded = true
      return false
    }
    return true
  }

  /// Sorts entries whose keys are cut by the values of their documents.
  private func sortByValues(_ entries: inout [IndexEntry]) throws {
    var keys: [(key: [UInt8], entry: IndexEntry)] = []
    for entry in entries {
      guard let head = try reads.head(of: entry.id) else { continue }
      let key = try reads.withDocument(entry.id, head) { document in try document.key(for: request.order) }
      keys.append((key, entry))
    }
    keys.sort { left, right in
      left.key == right.key
        ? BestKeys.isLess(left.entry.id, right.entry.id) : left.key.lexicographicallyPrecedes(right.key)
    }
    entries = keys.map(\.entry)
  }

  // MARK: Reading

  /// Passes the matching documents of the plan to a closure, in the order in which they are read.
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

  /// Returns the ids of the plan's documents, sorted, each once.
  private mutating func candidateIDs() throws -> [String] {
    if case .few(_, let ids) = plan.access { return ids }
    var ids: [String] = []
    for access in plan.accesses {
      for range in access.ranges {
        try reads.source.forEach(in: access.index.entries, range) { key, value in
          ids.append(try IndexEntry.id(key: key, value: value))
          return true
        }
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

  /// Passes a document of an index to a closure if it matches.
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

  /// Returns the ranges of a plan without the entries to skip, which are found by their rank.
  /// Entries of one key stay together, because the index does not tell their order.
  private mutating func rangesAfterSkipping(
    _ access: IndexAccess, _ isReversed: Bool
  ) throws -> [KeyRange] {
    guard plan.isCovered, request.skip > Self.leastSkip, try reads.expired(among: request.predicate) == 0
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
        // The range is by id throughout.
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
