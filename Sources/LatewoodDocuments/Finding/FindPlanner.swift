import LatewoodFleece
import LatewoodQuery
import LatewoodStore

/// Chooses the cheapest plan for a request. The number of entries in a range is exact, not
/// estimated.
///
/// Nothing is counted if the number could not change the choice: if an index contains exactly the
/// requested documents in the requested order, and the limit is small. A few entries with equal
/// keys are read rather than counted.
struct FindPlanner {
  /// The cost of reading an index entry and then its document, relative to reading the next
  /// document of a scan.
  private static let entryCost = 3.0
  /// The cost of reading an index entry without its document.
  private static let coveringCost = 0.5
  /// The relative cost of a plan that sorts its result and reads it again.
  private static let sortCost = 1.3
  /// The factor by which more entries may be read to avoid sorting all matches.
  private static let orderWorth = 4
  /// The maximum limit of a request for which no other plan can save much.
  private static let smallLimit = 64
  /// The factor by which a document costs more if its texts have to be split into words.
  private static let wordsCost = 10.0

  private let reads: DocumentReads
  private let choices: PlanningContext
  /// The fields to find; nil for whole documents.
  private let columns: [FieldPath]?
  /// Whether the documents must be ordered, by the request or else by id.
  private let isOrdered: Bool

  /// The request, bound to the full-text indexes of its condition.
  var request: FindRequest { choices.request }

  init(_ reads: DocumentReads, _ request: FindRequest) throws(DatabaseError) {
    self.init(reads, try PlanningContext(request, try reads.indexes()), nil, isOrdered: true)
  }

  /// - Parameters:
  ///   - columns: the fields to find; nil for whole documents.
  ///   - isOrdered: whether the documents must be ordered, by the request or else by id.
  init(
    _ reads: DocumentReads, _ prepared: PreparedFind, _ columns: [FieldPath]? = nil, isOrdered: Bool = true
  ) throws(DatabaseError) {
    self.init(reads, try prepared.choices(with: try reads.indexes()), columns, isOrdered: isOrdered)
  }

  private init(
    _ reads: DocumentReads, _ choices: PlanningContext, _ columns: [FieldPath]?, isOrdered: Bool
  ) {
    self.reads = reads
    self.choices = choices
    self.columns = columns
    self.isOrdered = isOrdered
  }

  /// Returns the cheapest plan.
  ///
  /// - Parameters:
  ///   - toCount: whether only the number of documents is needed. If the returned plan is covered,
  ///     or an exact scan, its candidates are that number, including expired documents.
  ///   - isMany: whether there are known to be more than a few documents with equal keys.
  func best(toCount: Bool = false, isMany: Bool = false) throws(DatabaseError) -> FindPlan {
    if toCount {
      if choices.areIDsWhole { return scan(candidates: try documentCount()) }
      if let access = try covering() {
        return FindPlan(access: .index(access), ordering: .none, candidates: access.candidates, cost: 0)
      }
      if let words = choices.texts.first(where: { $0.rest.isEmpty }) {
        return FindPlan(
          access: .words, words: words, ordering: .none, candidates: try reads.count(words), cost: 0)
      }
    }
    if let ranked = try ranked() { return ranked }
    if choices.parts.isEmpty, choices.unions.isEmpty, choices.texts.isEmpty { return scan(candidates: 0) }
    if let part = endingAtLimit { return plan(inOrder: uncounted(part)) }
    if !isMany, let match = try candidateMatch() { return plan(match) }
    return best(of: try all())
  }

  /// Returns the documents that the best plan reads if there are few of them and the request is
  /// unordered; nil otherwise.
  func shortCandidateList() throws(DatabaseError) -> CandidateMatch? {
    request.order.isEmpty && request.ranking == nil ? try candidateMatch() : nil
  }

  /// Explains the cheapest plan, with all counts filled in.
  func explained() throws(DatabaseError) -> QueryPlan {
    if let ranked = try ranked() { return try explain(ranked) }
    if let part = endingAtLimit { return try explain(plan(inOrder: try access(to: part))) }
    if let match = try candidateMatch() { return try explain(plan(match)) }
    return try explain(best(of: try all()))
  }

  /// Returns a plan that reads documents in the order of the request, without collecting them in
  /// memory; nil if such a plan does not exist or another plan would read far fewer documents.
  func inOrder() throws(DatabaseError) -> FindPlan? {
    if request.order.isEmpty { return try best() }
    if choices.parts.isEmpty, !request.isByIDReversed { return nil }
    let plans = try all()
    let least = best(of: plans).candidates
    let ordered = plans.filter {
      if case .index = $0.ordering { $0.candidates / FindPlanner.orderWorth <= least } else { false }
    }
    return ordered.isEmpty ? nil : best(of: ordered)
  }

  /// Returns a part of an index whose entries are exactly the requested documents; nil if no index
  /// has one.
  private func covering() throws(DatabaseError) -> IndexScan? {
    for part in choices.parts where part.isWhole {
      let access = try access(to: part)
      if access.isExact { return access }
    }
    return nil
  }

  private func best(of plans: [FindPlan]) -> FindPlan {
    plans.dropFirst().reduce(plans[0]) { $1.cost < $0.cost ? $1 : $0 }
  }

  // MARK: Words

  private func plan(_ words: TextScan) throws(DatabaseError) -> FindPlan {
    let count = try reads.estimate(words)
    return FindPlan(
      access: .words, words: words, ordering: .sorted, candidates: count,
      cost: Double(count) * FindPlanner.entryCost)
  }

  /// Returns the plan that reads the best documents first; nil if the request does not rank them.
  private func ranked() throws(DatabaseError) -> FindPlan? {
    guard let name = request.ranking else { return nil }
    guard let words = choices.texts.first(where: { $0.index.name == name }) else {
      throw DatabaseError(
        .invalidParameter, "documents cannot be ranked until the full-text index \(name) is built",
        advice: "Create the index again, which continues its build.")
    }
    return FindPlan(
      access: .words, words: words, ordering: .ranked, candidates: try reads.estimate(words), cost: 0)
  }

  // MARK: Without counting

  /// A part of an index with exactly the requested documents in the requested order, or almost in
  /// it, if the request has a small limit.
  private var endingAtLimit: CandidateIndex? {
    guard request.limit <= FindPlanner.smallLimit else { return nil }
    if let part = choices.parts.first(where: { $0.isReversed != nil && $0.isExact }) { return part }
    guard request.skip <= FindPlanner.smallLimit else { return nil }
    return choices.parts.first { $0.order != nil && $0.isExact }
  }

  private func plan(inOrder access: IndexScan) -> FindPlan {
    let order = access.part.order
    let ordering: FindPlan.Ordering =
      if let parts = order?.leadingParts {
        .leading(parts: parts, isReversed: order?.isReversed == true)
      } else {
        .index(isReversed: order?.isReversed == true)
      }
    return FindPlan(access: .index(access), ordering: ordering, candidates: access.candidates, cost: 0)
  }

  private func uncounted(_ part: CandidateIndex) -> IndexScan {
    IndexScan(part, ranges: part.ranges, candidates: 0, isExact: part.isExact)
  }

  /// Returns the documents of entries with equal keys; nil if there are too many.
  private func candidateMatch() throws(DatabaseError) -> CandidateMatch? {
    for part in choices.parts where part.bounds.isByID && part.ranges.count == 1 {
      if let ids = try reads.candidateIDs(in: part.index.entries, part.ranges[0]) {
        return CandidateMatch(part: part, ids: ids)
      }
    }
    return nil
  }

  private func plan(_ match: CandidateMatch) -> FindPlan {
    let count = match.ids.count
    let access = IndexScan(
      match.part, ranges: match.part.ranges, candidates: count, isExact: match.part.isExact)
    return FindPlan(
      access: .candidates(access, ids: match.ids), ordering: .sorted, candidates: count,
      cost: Double(count) * FindPlanner.entryCost)
  }

  // MARK: By counts

  /// All plans, the scan first. Counts every range.
  func all() throws(DatabaseError) -> [FindPlan] {
    var total = 0
    for range in choices.ids { total += try count(reads.spaces.documents, range) }
    var plans = [scan(candidates: total)]
    for part in choices.parts { plans.append(contentsOf: self.plans(for: try access(to: part))) }
    for sides in choices.unions { plans.append(try union(sides)) }
    if request.hasText {
      for place in plans.indices { plans[place].cost *= FindPlanner.wordsCost }
      for words in choices.texts { plans.append(try plan(words)) }
    }
    let exact = plans.filter { $0.isCovered || $0.isExactScan }
    if let matches = exact.map(\.candidates).min(), matches > 0 {
      if request.isByID {
        // The scan ends at the limit: the more documents match, the sooner.
        plans[0].cost = min(plans[0].cost, Double(needed) * Double(total) / Double(matches))
      } else {
        // After sorting, the needed matches are read again.
        plans[0].cost += Double(min(needed, matches)) * FindPlanner.entryCost
      }
    }
    return plans
  }

  private var needed: Int { request.needed ?? .max }

  private func scan(candidates: Int) -> FindPlan {
    FindPlan(
      access: .scan(choices.ids),
      ordering: request.order.isEmpty ? .none : request.isByIDReversed ? .index(isReversed: true) : .sorted,
      candidates: candidates, cost: Double(candidates), isExactScan: choices.areIDsWhole)
  }

  /// Returns the plans that read one part of one index.
  private func plans(for access: IndexScan) -> [FindPlan] {
    let bounds = access.bounds
    let entryCost =
      access.isExact && isCovered(by: access.index.definition)
      ? FindPlanner.coveringCost : FindPlanner.entryCost
    let cost = Double(access.candidates) * entryCost
    // Skipped entries are found by rank.
    let wanted = min(request.limit, max(0, access.candidates - request.skip))
    var plans: [FindPlan] = []
    // Reading an entire index only helps if it has the order or fewer documents.
    if access.part.isSelective {
      let isByID = request.order.isEmpty && bounds.isByID && bounds.ranges.count <= 1
      plans.append(
        FindPlan(
          access: .index(access), ordering: isByID ? .none : .sorted, candidates: access.candidates,
          cost: isByID && access.isExact
            ? Double(wanted) * entryCost
            : request.order.isEmpty
              // The entries are collected and sorted by id.
              ? (isOrdered ? Double(access.candidates) * FindPlanner.entryCost : cost)
              : Double(access.candidates) * FindPlanner.entryCost * FindPlanner.sortCost))
    }
    if let isReversed = access.isReversed {
      // Without a filter the read ends at the limit; with one it probably ends long before the last
      // entry.
      let most = access.isExact ? wanted : needed == .max ? .max : max(needed, access.candidates / 4)
      plans.append(
        FindPlan(
          access: .index(access), ordering: .index(isReversed: isReversed), candidates: access.candidates,
          cost: min(cost, Double(most) * entryCost)))
    }
    return plans
  }

  /// Returns whether an index contains all the fields to find.
  private func isCovered(by definition: IndexDefinition) -> Bool {
    columns.map { definition.partIndexes(of: $0) != nil } == true
  }

  /// Returns the plan for an `or`, which reads the index with the fewest entries for each side.
  private func union(_ sides: [[CandidateIndex]]) throws(DatabaseError) -> FindPlan {
    var found: [IndexScan] = []
    for parts in sides {
      var best: IndexScan?
      for part in parts {
        let access = try access(to: part)
        if access.candidates < best?.candidates ?? .max { best = access }
      }
      if let best { found.append(best) }
    }
    let candidates = found.reduce(0) { $0 + $1.candidates }
    return FindPlan(
      access: .union(found), ordering: .sorted, candidates: candidates,
      cost: Double(candidates) * FindPlanner.entryCost)
  }

  private func access(to part: CandidateIndex) throws(DatabaseError) -> IndexScan {
    var ranges: [KeyRange] = []
    var candidates = 0
    var isExact = part.isWhole
    for (interval, range) in zip(part.bounds.ranges, part.ranges) {
      let count = try count(part.index.entries, range)
      if count == 0 { continue }
      if interval.needsCheck { isExact = false }
      candidates += count
      ranges.append(range)
    }
    return IndexScan(part, ranges: ranges, candidates: candidates, isExact: isExact)
  }

  /// Returns the number of documents with the ids of the request, including expired ones.
  private func documentCount() throws(DatabaseError) -> Int {
    var count = 0
    for range in choices.ids { count += try reads.storedCount(in: range) }
    return count
  }

  private func count(_ keyspace: Keyspace, _ range: KeyRange) throws(DatabaseError) -> Int {
    try reads.source.entryCount(in: keyspace, range)
  }

  // MARK: Explaining

  func explain(_ plan: FindPlan) throws(DatabaseError) -> QueryPlan {
    var sorts = false
    if case .sorted = plan.ordering { sorts = !request.order.isEmpty }
    var uses = plan.accesses.map {
      QueryPlan.Use(index: $0.index.name, ranges: $0.ranges.count, entries: $0.candidates)
    }
    if let words = plan.words {
      uses.append(
        QueryPlan.Use(index: words.index.name, ranges: 0, entries: plan.candidates, isFullText: true))
    }
    let isCovering = plan.isCovered && !sorts && isCovered(by: plan.accesses[0].index.definition)
    // The ids of all documents are one range without bounds.
    let isPart = plan.isScan && choices.ids != [.all]
    let filters = !choices.conditions.parts.isEmpty && !plan.isExact
    var explanation = QueryPlan(
      uses: uses, idRanges: isPart ? choices.ids.count : nil, isCovering: isCovering, filters: filters,
      sorts: sorts,
      candidates: plan.candidates, suggestion: uses.isEmpty ? try suggestion() : nil)
    explanation.isRanked = plan.ranked != nil
    return explanation
  }

  /// Returns the fields of the index that would help; nil if there is none.
  private func suggestion() throws(DatabaseError) -> String? {
    let order = request.isByID ? [] : request.order
    return try IndexSuggestion(choices, order) { path throws(DatabaseError) in
      // The first document with the field stands for the others.
      var sample = FindRequest(.field(path, .exists))
      sample.limit = 1
      var isArray = false
      do {
        _ = try reads.find(sample) { document in
          isArray = try document.withField(path) { lookup throws(FleeceError) in
            try lookup.value?.array() != nil
          }
          return false
        }
      } catch { throw DatabaseError.from(error) }
      return isArray
    }?.text
  }
}
