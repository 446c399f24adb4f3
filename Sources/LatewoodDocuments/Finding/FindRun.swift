import LatewoodBytes
import LatewoodFleece
import LatewoodQuery
import LatewoodStore

/// The execution of one request by one plan.
struct FindRun<Sink: ResultSink> {
  private let reads: DocumentReads
  /// The request, without the conditions that the words of a full-text index ensure.
  private let request: FindRequest
  private let plan: FindPlan
  private let isCovered: Bool
  /// Whether all documents that the plan reads match.
  private let matchesAll: Bool
  /// Fewer entries than this are skipped one by one.
  private static var leastSkip: Int { 16 }
  /// The maximum number of entries for which a sink is told to reserve memory.
  private static var mostExpected: Int { 4096 }
  private(set) var sink: Sink
  /// The lookup of nearby documents; nil if each is looked up individually: in a batch, or if only
  /// one is needed.
  private var nearby: NearbyDocuments?
  /// Whether the sink takes index entries instead of documents.
  private var isCovering = false
  /// The ids of expired documents, which indexes still contain. Only set if no documents are read;
  /// otherwise the head of a document shows whether it has expired.
  private var expired: Set<String> = []

  /// The number of examined documents.
  private var seen = 0
  private var passed = 0
  private var taken = 0
  private var isEnded = false
  /// Whether some read entries have not been passed on yet.
  private var holdsRun = false
  /// Set if the query can be cancelled, unless it is short.
  private let steps: QuerySteps?

  init(_ reads: DocumentReads, _ request: FindRequest, _ plan: FindPlan, _ sink: Sink) {
    self.reads = reads
    self.request =
      if let words = plan.words { request.with(.all(words.rest)) } else { request }
    self.plan = plan
    isCovered = plan.isCovered
    matchesAll = plan.isExact
    steps = plan.isShort ? nil : QuerySteps.current
    self.sink = sink
  }

  /// - Returns: the number of examined documents.
  mutating func run() throws -> Int {
    isCovering = isCovered && sink.covers(plan.accesses[0].index.definition)
    if isCovering {
      expired = Set(try reads.expired().map { String(decoding: $0, as: UTF8.self) })
      // A plan for a small limit does not count its candidates.
      let isCounted = plan.candidates > 0 || request.limit == .max
      let candidates = isCounted ? plan.candidates : request.limit
      sink.expect(min(candidates, request.limit, Self.mostExpected))
    }
    if readsSeveral { nearby = try NearbyDocuments(reads) }
    if !Sink.isOrdered, request.skip == 0, request.limit == .max {
      try runInAnyOrder()
      return seen
    }
    if let words = plan.ranked {
      try runRanked(words)
      return seen
    }
    switch (plan.access, plan.ordering) {
    case (.index(let access), .index(let isReversed)): try runByIndex(access, isReversed)
    case (.index(let access), .leading(let parts, let isReversed)):
      try runByLeadingParts(access, parts, isReversed)
    case (.index(let access), .none):
      let ranges = try rangesAfterSkipping(access, false)
      try forEachEntry(access, in: ranges, together: true) { run, entry in try run.take(entry) }
    case (_, .none), (.scan, .index): try forEachMatch { run, document in try run.take(document) }
    default: if request.order.isEmpty { try runByID() } else { try runSorted() }
    }
    return seen
  }

  private mutating func runRanked(_ words: TextScan) throws {
    try reads.forEachRanked(words, needed: request.needed) { document, _ in
      try countDocument()
      return try filter(document) { run, document in try run.take(document) }
    }
  }

  /// Whether more than one document may be read, which makes `NearbyDocuments` worthwhile.
  private var readsSeveral: Bool {
    if isCovering || request.limit == 1 && isCovered { return false }
    guard case .scan = plan.access else { return true }
    // A scan that sorts reads its documents again.
    if case .sorted = plan.ordering { return true }
    return false
  }

  /// Passes the next document to the sink unless it must be skipped. Returns false at the end.
  private mutating func take(_ document: MatchedDocument) throws -> Bool {
    if passed < request.skip {
      passed += 1
      return true
    }
    taken += 1
    return try sink.take(document) && taken < request.limit
  }

  /// Passes the entry of the next document to the sink, or the document if the sink needs it.
  private mutating func take(_ entry: StoredEntry) throws -> Bool {
    if isCovering {
      if !expired.isEmpty, expired.contains(entry.id) { return true }
      if passed < request.skip {
        passed += 1
        return true
      }
      if let goesOn = try sink.take(entry) {
        taken += 1
        return goesOn && taken < request.limit
      }
    }
    return try look(at: entry.idBytes) { run, document in try run.take(document) }
  }

  /// Passes entries that need no other treatment to the sink, except the last requested one.
  /// Returns their number.
  private mutating func takeTogether(_ batch: UnsafeBufferPointer<EntryBytes>, from index: Int) -> Int {
    guard isCovering, !holdsRun, passed >= request.skip else { return 0 }
    // Entries of expired documents must be left out.
    guard expired.isEmpty else { return 0 }
    let end = min(batch.count - index, request.limit - taken - 1) + index
    guard index < end else { return 0 }
    let count = sink.take(UnsafeBufferPointer(rebasing: batch[index..<end]))
    taken += count
    return count
  }

  // MARK: Orders

  /// Passes all matches to the sink in any order.
  private mutating func runInAnyOrder() throws {
    if isCovering, case .index(let access) = plan.access {
      try forEachEntry(access, in: access.ranges, together: true) { run, entry in
        if !run.expired.isEmpty, run.expired.contains(entry.id) { return true }
        if let goesOn = try run.sink.take(entry) { return goesOn }
        return try run.look(at: entry.idBytes) { run, document in try run.sink.take(document) }
      }
    } else {
      try forEachMatch { run, document in try run.sink.take(document) }
    }
  }

  /// Sorts all matches by the order of the request.
  private mutating func runSorted() throws {
    let (reads, skip) = (reads, request.skip)
    var skipped = 0
    try PartSorter.sort(limit: request.needed, memory: request.sortMemory) { sorter in
      try forEachMatch { run, document in
        try sorter.add(SortKey(key: try document.key(for: run.request.order), id: document.id))
        return true
      }
    } _: { (entry: SortKey) in
      skipped += 1
      if skipped <= skip { return true }
      return try reads.withDocument(entry.id) { document in try sink.take(document) } ?? true
    }
  }

  /// Sorts the ids of an index before reading any document.
  private mutating func runByID() throws {
    guard isCovering else { return try forEachCandidate { run, document in try run.take(document) } }
    try PartSorter.sort(memory: request.sortMemory) { sorter in
      for access in plan.accesses {
        try forEachEntry(access, in: access.ranges) { _, entry in
          try sorter.add(IndexEntry(entry))
          return true
        }
      }
    } _: { (entry: IndexEntry) in
      try entry.withStored { entry in try take(entry) }
    }
  }

  /// Reads in the order of the index. Entries with equal keys are ordered by id in both directions,
  /// and those with cut keys by their full values, so a run of equal keys may have to be collected
  /// first.
  private mutating func runByIndex(_ access: IndexScan, _ isReversed: Bool) throws {
    var run = EntryRun()
    let ranges = try rangesAfterSkipping(access, isReversed)
    try forEachEntry(access, in: ranges, reversed: isReversed, together: !isReversed) { find, entry in
      if !run.isEmpty, !((isReversed || run.isCut) && run.hasKey(of: entry)) {
        guard try find.takeRun(&run) else { return false }
        run.removeAll()
        find.holdsRun = false
      }
      // Read forwards, all entries except those with cut keys are already in order.
      if !isReversed, !entry.isCut {
        find.isEnded = try !find.take(entry)
        return !find.isEnded
      }
      run.append(entry)
      find.holdsRun = true
      return true
    }
    if !isEnded, !run.isEmpty { _ = try takeRun(&run) }
  }

  /// Passes the entries of one key on. Returns whether to continue.
  ///
  /// - Parameter run: unchanged; `inout` avoids a copy.
  private mutating func takeRun(_ run: inout EntryRun) throws -> Bool {
    if run.isSingle {
      isEnded = try !run.withFirst { entry in try take(entry) }
      return !isEnded
    }
    return try takeSeveral(run)
  }

  /// Passes several entries of one key on, in order. Returns whether to continue.
  ///
  /// Not inlined, to avoid copies for a single entry.
  @inline(never) private mutating func takeSeveral(_ run: EntryRun) throws -> Bool {
    let reads = reads
    let order = request.order
    let sort = { (entries: inout [IndexEntry]) in
      if run.isCut {
        try FindRun.sortByValues(&entries, reads, order)
      } else {
        try entries.sortCounting(by: IndexEntry.precedes)
      }
    }
    isEnded = try !run.forEach(sortedBy: sort) { entry in try take(entry) }
    return !isEnded
  }

  /// Reads in the order of the leading parts of an index. Entries that agree in these parts are
  /// collected, as many as are needed, and ordered by id.
  @inline(never) private mutating func runByLeadingParts(
    _ access: IndexScan, _ parts: Int, _ isReversed: Bool
  ) throws {
    // Entries of expired documents do not count.
    let needed = try hasNoExpiredDocuments() ? request.needed : nil
    var run = LeadingRun(access.index.definition.parts.prefix(parts).map(\.isDescending), needed: needed)
    try forEachEntry(access, in: access.ranges, reversed: isReversed) { find, entry in
      if run.append(entry) { return true }
      guard try find.takeRun(&run) else { return false }
      _ = run.append(entry)
      return true
    }
    if !isEnded { _ = try takeRun(&run) }
  }

  /// Passes the entries of a run on, in order, and empties it. Returns whether to continue.
  private mutating func takeRun(_ run: inout LeadingRun) throws -> Bool {
    var entries = run.removeAll()
    if run.isByValues {
      try FindRun.sortByValues(&entries, reads, request.order)
    } else {
      try entries.sortCounting(by: IndexEntry.precedes)
    }
    for entry in entries where !isEnded { isEnded = try !entry.withStored { try take($0) } }
    return !isEnded
  }

  /// Sorts entries with cut keys by the values of their documents.
  private static func sortByValues(
    _ entries: inout [IndexEntry], _ reads: DocumentReads, _ order: [FindRequest.Order]
  ) throws {
    var keys: [(key: [UInt8], entry: IndexEntry)] = []
    for entry in entries {
      if let key = try reads.withDocument(entry.id, { document in try document.key(for: order) }) {
        keys.append((key, entry))
      }
    }
    try keys.sortCounting { left, right in
      left.key == right.key
        ? IndexEntry.precedes(left.entry, right.entry) : left.key.lexicographicallyPrecedes(right.key)
    }
    entries = keys.map(\.entry)
  }

  // MARK: Reading

  /// Passes the matching documents of the plan to a closure, in reading order.
  private mutating func forEachMatch(
    _ body: (inout FindRun, MatchedDocument) throws -> Bool
  ) throws {
    switch plan.access {
    case .scan(let ranges):
      var query = AllDocumentsQuery()
      if case .index(let isReversed) = plan.ordering { query.descending = isReversed }
      var goesOn = true
      for range in query.descending ? ranges.reversed() : ranges where goesOn {
        query.range = range
        try reads.forEachStoredDocument(query) { id, head, record in
          goesOn = try match(id, head, record, body)
          return goesOn
        }
      }
    case .index(let access) where !access.bounds.mayRepeat:
      let ranges = request.order.isEmpty ? try rangesAfterSkipping(access, false) : access.ranges
      try forEachEntry(access, in: ranges) { run, entry in try run.look(at: entry.idBytes, body) }
    default: try forEachCandidate(body)
    }
  }

  /// Passes the matching documents of the plan to a closure, by id.
  private mutating func forEachCandidate(_ body: (inout FindRun, MatchedDocument) throws -> Bool) throws {
    if case .candidates(_, let ids) = plan.access {
      try ids.visit { id in try look(at: id, body) }
      return
    }
    try PartSorter.sort(memory: request.sortMemory) { sorter in
      if let words = plan.words {
        try reads.forEachID(words) { id in
          try steps?.spend(1)
          try sorter.add(SortKey(id: id))
        }
      }
      for access in plan.accesses {
        for range in access.ranges {
          try reads.source.forEachBatch(in: access.index.entries, range, reversed: false) { batch in
            try steps?.spend(batch.count)
            for entry in batch { try sorter.add(SortKey(id: StoredEntry(entry).id)) }
            return true
          }
        }
      }
    } _: { (entry: SortKey) in
      try look(at: entry.id, body)
    }
  }

  /// Calls a closure with each entry of some ranges, until it returns false.
  ///
  /// It is inlined together with the closure, which becomes part of the loop over a batch.
  ///
  /// - Parameter together: whether the sink may take several entries in one step, bypassing the
  ///   closure.
  @inline(__always) private mutating func forEachEntry(
    _ access: IndexScan, in ranges: [KeyRange], reversed: Bool = false, together: Bool = false,
    _ body: (inout FindRun, StoredEntry) throws -> Bool
  ) throws {
    var goesOn = true
    for range in reversed ? ranges.reversed() : ranges where goesOn {
      try reads.source.forEachBatch(in: access.index.entries, range, reversed: reversed) { batch in
        try steps?.spend(batch.count)
        var index = 0
        while index < batch.count, goesOn {
          if together { index += takeTogether(batch, from: index) }
          if index < batch.count {
            goesOn = try body(&self, StoredEntry(batch[index]))
            index += 1
          }
        }
        return goesOn
      }
    }
  }

  /// Passes a document of an index to a closure if it matches.
  private mutating func look(
    at id: some ByteSource, _ body: (inout FindRun, MatchedDocument) throws -> Bool
  ) throws -> Bool {
    if nearby == nil { return try lookAlone(at: id, body) }
    return try id.withBytes { id in
      // SAFETY: the bytes live as long as the state, which `nearby` keeps.
      guard let record = try nearby?.record(of: id) else { return true }
      let head = try DocumentRecord.Head(record)
      if head.isDeleted || reads.hasExpired(head) { return true }
      guard let stored = try nearby?.body(of: head, in: record) else {
        throw DocumentReads.missingBody(of: id)
      }
      try countDocument()
      return try DocumentReads.passing(id, head, stored) { document in try filter(document, body) }
    }
  }

  /// Looks up a single document and passes it to the closure. Not inlined, because it makes copies.
  @inline(never) private mutating func lookAlone(
    at id: some ByteSource, _ body: (inout FindRun, MatchedDocument) throws -> Bool
  ) throws -> Bool {
    let reads = reads
    return try reads.withRecord(of: id) { head, record in
      try head.isDeleted || match(id, head, record, body)
    } ?? true
  }

  private mutating func match(
    _ id: some ByteSource, _ head: DocumentRecord.Head, _ record: UnsafeRawBufferPointer,
    _ body: (inout FindRun, MatchedDocument) throws -> Bool
  ) throws -> Bool {
    try countDocument()
    return try id.withBytes { id in
      guard let stored = head.body(in: record) else {
        return try reads.withDocument(id, head, in: record) { document in try filter(document, body) }
      }
      return try DocumentReads.passing(id, head, stored) { document in try filter(document, body) }
    }
  }

  /// Counts a document that is examined. Checks for cancellation now and then, not each time: that
  /// would be a hundredth of the work of a scan.
  @inline(__always) private mutating func countDocument() throws {
    seen += 1
    if seen % 16 == 0 { try steps?.spend(16) }
  }

  /// Passes a document to a closure if it matches. Returns whether to continue.
  @inline(__always) private mutating func filter(
    _ document: MatchedDocument, _ body: (inout FindRun, MatchedDocument) throws -> Bool
  ) throws -> Bool {
    try matchesAll || request.predicate.matches(document) ? try body(&self, document) : true
  }

  // MARK: Skipping

  /// Returns whether the request is free of documents that have expired but are not purged yet.
  private func hasNoExpiredDocuments() throws -> Bool {
    // These ids have been read already.
    if isCovering, expired.isEmpty { return true }
    return try reads.expired(among: request.predicate) == 0
  }

  /// Returns the ranges of a plan without the entries to skip, located by rank. Entries with equal
  /// keys stay together, because the index does not define their order.
  private mutating func rangesAfterSkipping(
    _ access: IndexScan, _ isReversed: Bool
  ) throws -> [KeyRange] {
    guard isCovered, request.skip > Self.leastSkip, try hasNoExpiredDocuments() else { return access.ranges }
    let (source, entries) = (reads.source, access.index.entries)
    var ranges = isReversed ? Array(access.ranges.reversed()) : access.ranges
    while let range = ranges.first {
      let rest = request.skip - passed
      // When reading forwards, the number of entries is needed only if there are too few.
      let count = isReversed ? try source.count(in: entries, range) : 0
      let place = isReversed ? count - 1 - rest : rest
      guard let key = place < 0 ? nil : try source.key(at: place, in: entries, range) else {
        passed += isReversed ? count : try source.count(in: entries, range)
        ranges.removeFirst()
        continue
      }
      guard
        let entry = try source.withValue(key, in: entries, { try IndexEntry(key: key.span.bytes, value: $0) })
      else { break }
      if case .none = plan.ordering {
        // The entire range is ordered by id.
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
