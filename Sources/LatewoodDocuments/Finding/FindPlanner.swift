import LatewoodQuery
import LatewoodStore

/// Finds the ways in which a request can be answered, and what each costs: how many entries a range
/// has is exact.
struct FindPlanner {
  /// To read an entry of an index and then its document takes longer than to read the next
  /// document.
  private static let entryCost = 3.0
  /// To sort what was found, and read it once more, takes a part more.
  private static let sortCost = 1.3

  private let reads: DocumentReads
  private let request: FindRequest
  private let indexes: [CollectionIndex]
  private let conditions: Conjunction

  init(_ reads: DocumentReads, _ request: FindRequest) throws(DocumentError) {
    self.reads = reads
    self.request = request
    indexes = try reads.indexes().filter(\.isReady)
    conditions = Conjunction(request.predicate)
  }

  /// The way that costs least.
  ///
  /// - Parameter toCount: nothing but how many there are is wanted, which an index that has just
  ///   those says without reading them.
  func best(toCount: Bool = false) throws(DocumentError) -> FindPlan {
    // Without an index there is nothing to count.
    if indexes.isEmpty { return scan(of: KeyRange(idsOf: request.predicate), candidates: 0) }
    return best(of: try all(), toCount: toCount)
  }

  /// The same with every range counted, for those who want to know.
  func explained() throws(DocumentError) -> FindExplanation { explain(best(of: try all())) }

  private func best(of plans: [FindPlan], toCount: Bool = false) -> FindPlan {
    if toCount, let covered = plans.first(where: { $0.isCovered }) { return covered }
    return plans.dropFirst().reduce(plans[0]) { $1.cost < $0.cost ? $1 : $0 }
  }

  /// Every way; the scan first.
  func all() throws(DocumentError) -> [FindPlan] {
    let ids = KeyRange(idsOf: request.predicate)
    let total = try count(reads.spaces.documents, ids)
    var plans = [scan(of: ids, candidates: total)]
    for index in indexes {
      guard let access = try access(to: index, for: conditions) else { continue }
      plans.append(contentsOf: self.plans(for: access))
    }
    if let union = try union() { plans.append(union) }
    // A scan without an order ends at the limit, which comes the sooner the more documents match.
    if request.order.isEmpty, let matches = plans.filter(\.isCovered).map(\.candidates).min(), matches > 0 {
      plans[0].cost = min(plans[0].cost, Double(needed) * Double(total) / Double(matches))
    }
    return plans
  }

  private var needed: Int { request.needed ?? .max }

  private func scan(of ids: KeyRange, candidates: Int) -> FindPlan {
    FindPlan(
      access: .scan(ids), ordering: request.order.isEmpty ? .none : .sorted, candidates: candidates,
      cost: Double(candidates))
  }

  /// The plans that read one part of one index.
  private func plans(for access: IndexAccess) -> [FindPlan] {
    let bounds = access.bounds
    let cost = Double(access.candidates) * FindPlanner.entryCost
    // What is skipped is found by rank.
    let wanted = min(request.limit, max(0, access.candidates - request.skip))
    var plans: [FindPlan] = []
    // To read all of an index is worth it for its order, or where it has fewer documents.
    if !bounds.isAll || access.index.definition.condition != nil {
      let isByID = request.order.isEmpty && bounds.isByID && bounds.ranges.count <= 1
      plans.append(
        FindPlan(
          access: .index(access), ordering: isByID ? .none : .sorted, candidates: access.candidates,
          cost: isByID && access.isExact
            ? Double(wanted) * FindPlanner.entryCost
            : request.order.isEmpty ? cost : cost * FindPlanner.sortCost))
    }
    let order = request.order.map { ($0.path, $0.isDescending) }
    if !order.isEmpty, let isReversed = access.index.definition.isReversed(for: order, in: bounds) {
      // Without a filter it ends at the limit; with one it can be hoped to end long before the
      // last.
      let most = access.isExact ? wanted : needed == .max ? .max : max(needed, access.candidates / 4)
      plans.append(
        FindPlan(
          access: .index(access), ordering: .index(isReversed: isReversed), candidates: access.candidates,
          cost: min(cost, Double(most) * FindPlanner.entryCost)))
    }
    return plans
  }

  /// The documents of an `or`, each part of which an index answers.
  private func union() throws(DocumentError) -> FindPlan? {
    for condition in conditions.parts {
      guard case .any(let parts) = condition, parts.count > 1 else { continue }
      var found: [IndexAccess] = []
      for part in parts {
        var best: IndexAccess?
        for index in indexes {
          guard let access = try access(to: index, for: Conjunction(.all([part] + conditions.parts))),
            !access.bounds.isAll || index.definition.condition != nil
          else { continue }
          if access.candidates < best?.candidates ?? .max { best = access }
        }
        guard let best else { break }
        found.append(best)
      }
      guard found.count == parts.count else { continue }
      let candidates = found.reduce(0) { $0 + $1.candidates }
      return FindPlan(
        access: .union(found), ordering: .sorted, candidates: candidates,
        cost: Double(candidates) * FindPlanner.entryCost)
    }
    return nil
  }

  private func access(
    to index: CollectionIndex, for conditions: Conjunction
  ) throws(DocumentError) -> IndexAccess? {
    guard let bounds = index.definition.bounds(for: conditions) else { return nil }
    var ranges: [KeyRange] = []
    var candidates = 0
    var isExact = bounds.isWhole && !bounds.mayRepeat
    for interval in bounds.ranges {
      let range = KeyRange(
        lower: interval.low.isEmpty ? .unbounded : .included(interval.low),
        upper: interval.high.map { .excluded($0) } ?? .unbounded)
      let count = try count(index.entries, range)
      if count == 0 { continue }
      if interval.needsCheck { isExact = false }
      candidates += count
      ranges.append(range)
    }
    return IndexAccess(
      index: index, bounds: bounds, ranges: ranges, candidates: candidates, isExact: isExact)
  }

  private func count(_ keyspace: Keyspace, _ range: KeyRange) throws(DocumentError) -> Int {
    do throws(StoreError) { return try reads.source.count(in: keyspace, range) } catch {
      throw DocumentError(error)
    }
  }

  // MARK: Explaining

  func explain(_ plan: FindPlan) -> FindExplanation {
    var sorts = false
    if case .sorted = plan.ordering { sorts = !request.order.isEmpty }
    let accesses: [IndexAccess] =
      switch plan.access {
      case .scan: []
      case .index(let access): [access]
      case .union(let accesses): accesses
      }
    let uses = accesses.map {
      FindExplanation.Use(index: $0.index.name, ranges: $0.ranges.count, entries: $0.candidates)
    }
    return FindExplanation(
      uses: uses, filters: !conditions.parts.isEmpty && !plan.isCovered, sorts: sorts,
      candidates: plan.candidates,
      suggestion: uses.isEmpty ? IndexSuggestion.fields(for: conditions, request.order) : nil)
  }
}

/// What index a request would need.
private enum IndexSuggestion {
  /// Fields that are equal to something, then one that is compared or those to sort by; nil if no
  /// index would help.
  static func fields(for conditions: Conjunction, _ order: [FindRequest.Order]) -> String? {
    var equal: [FieldPath] = []
    var compared: [IndexDefinition.Part] = []
    for case .field(let path, let test) in conditions.parts where path != FoundDocument.idField {
      switch test {
      case .compare(.equal, _), .isAmong:
        if !equal.contains(path) { equal.append(path) }
      case .compare, .begins, .hasType: compared.append(IndexDefinition.Part(path))
      case .anyElement, .containsAll: compared.append(IndexDefinition.Part(path, isEach: true))
      default: break
      }
    }
    var parts = equal.map { IndexDefinition.Part($0) }
    let sorted = order.filter { !equal.contains($0.path) }
    if let first = compared.first, sorted.first.map({ $0.path == first.path }) != true {
      parts.append(first)
    } else {
      parts += sorted.map { IndexDefinition.Part($0.path, isDescending: $0.isDescending) }
    }
    let named = parts.prefix(IndexDefinition.partLimit)
    return named.isEmpty ? nil : named.map(\.text).joined(separator: ",")
  }
}
