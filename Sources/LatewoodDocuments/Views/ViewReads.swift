import LatewoodFleece
import LatewoodQuery
import LatewoodStore

/// Reads one state of one view, which reflects every change of that state.
///
/// The rows of expired documents that are not purged yet are hidden. If there are any, which is
/// rare, a skip costs O(rows) instead of O(log n).
///
/// Not thread-safe.
package struct ViewReads {
  package let reads: DocumentReads
  let view: CollectionView
  /// The keys of hidden rows.
  private let hidden: Set<[UInt8]>

  init(_ view: CollectionView, _ reads: DocumentReads) throws(DatabaseError) {
    self.view = view
    self.reads = reads
    var hidden: Set<[UInt8]> = []
    for id in try reads.expired() {
      let list = try reads.read(id, in: view.emitted) { (bytes) throws(DatabaseError) in
        try EmittedRows(bytes)
      }
      hidden.formUnion(list?.storedKeys(String(decoding: id, as: UTF8.self)) ?? [])
    }
    self.hidden = hidden
  }

  // MARK: Rows

  /// Calls a closure with each row of a range until it returns false. O(log n + rows), regardless
  /// of `skip`.
  package func forEachRow(
    in range: ViewRange = ViewRange(), skip: Int = 0, _ body: (StoredRow) throws -> Bool
  ) throws {
    var keys = try range.keys()
    var skip = max(0, skip)
    if skip > 0, hidden.isEmpty {
      guard let rest = try beginning(keys, after: skip, isDescending: range.isDescending) else { return }
      (keys, skip) = (rest, 0)
    }
    // Not shared with the closure, which would cost an exclusivity check per row.
    var rest = skip
    let hidden = hidden
    try reads.source.forEach(in: view.rows, keys, reversed: range.isDescending) { key, value in
      try StoredRow.reading(key, value) { row in
        if !hidden.isEmpty, hidden.contains(Array(row.stored)) { return true }
        if rest > 0 {
          rest -= 1
          return true
        }
        return try body(row)
      }
    }
  }

  /// Returns a range without its first rows; nil if it is empty then. O(log n).
  private func beginning(
    _ keys: KeyRange, after skip: Int, isDescending: Bool
  ) throws -> KeyRange? {
    var rest = keys
    if isDescending {
      let count = try reads.source.count(in: view.rows, keys)
      guard skip < count, let last = try reads.source.key(at: count - 1 - skip, in: view.rows, keys)
      else { return nil }
      rest.upper = .included(last)
    } else {
      guard let first = try reads.source.key(at: skip, in: view.rows, keys) else { return nil }
      rest.lower = .included(first)
    }
    return rest
  }

  /// Returns the number of rows in a range. O(log n), plus the number of unmerged changes in the
  /// range.
  package func count(in range: ViewRange = ViewRange()) throws(DatabaseError) -> Int {
    try count(in: try range.keys())
  }

  /// Returns the number of rows of the view before a range in its direction.
  package func offset(of range: ViewRange) throws(DatabaseError) -> Int {
    let keys = try range.keys()
    if range.isDescending {
      guard case .excluded(let high) = keys.upper else { return 0 }
      return try count(in: .from(high))
    }
    guard case .included(let low) = keys.lower else { return 0 }
    return try count(in: .upTo(low))
  }

  private func count(in keys: KeyRange) throws(DatabaseError) -> Int {
    let stored = try reads.source.entryCount(in: view.rows, keys)
    return hidden.isEmpty ? stored : stored - hidden.count { keys.holds($0) }
  }

  /// Returns the emitted key of a row or group as Fleece. Whole numbers become integers, even if
  /// they were emitted as floating-point numbers.
  package static func value(of key: UnsafeRawBufferPointer) throws(DatabaseError) -> [UInt8] {
    var reader = CollationReader(key)
    var writer = FleeceWriter()
    do throws(FleeceError) {
      if try reader.write(to: &writer), reader.offset == key.count { return try writer.finish() }
    } catch {}
    throw DatabaseError(.corruptData, "the key of a row is damaged")
  }

  // MARK: Reductions

  /// Returns the sum and statistics of the values of a range. Expected O(log n) if the view has
  /// sums.
  package func stats(in range: ViewRange = ViewRange()) throws(DatabaseError) -> ViewStatistics {
    try stats(in: try range.keys())
  }

  private func stats(in keys: KeyRange) throws(DatabaseError) -> ViewStatistics {
    if let sums = view.sums, hidden.isEmpty {
      var walk = ViewSumWalk(ViewSums(rows: view.rows, sums: sums), reads.source)
      return try DatabaseError.typed { try walk.stats(in: keys) }
    }
    var stats = ViewStatistics()
    try reads.source.visit(in: view.rows, keys) { key, value in
      try StoredRow.reading(key, value) { row in
        if !hidden.isEmpty, hidden.contains(Array(row.stored)) { return true }
        stats.add(try row.number())
        return true
      }
    }
    return stats
  }

  /// Rows with the same key, or with the same first elements of their keys.
  package struct Group {
    /// The key in Fleece: the emitted key, or the common elements.
    package let key: [UInt8]
    fileprivate let keys: KeyRange
  }

  /// Calls a closure with each group of rows in a range, until it returns false. O(log n) for each
  /// group, regardless of its size.
  ///
  /// - Parameter level: the number of elements by which to group arrays; nil to group by entire
  ///   keys.
  package func forEachGroup(
    in range: ViewRange = ViewRange(), level: Int? = nil, _ body: (Group) throws -> Bool
  ) throws {
    var rest = try range.keys()
    while true {
      let next =
        try range.isDescending
        ? reads.source.last(in: view.rows, rest) : reads.source.first(in: view.rows, rest)
      guard let next else { return }
      let (key, prefix) = try ViewReads.group(of: next.key, next.value, level)
      let members = rest.intersection(with: .prefix(prefix))
      if try hidden.isEmpty || count(in: members) > 0 {
        guard try body(Group(key: key, keys: members)) else { return }
      }
      if range.isDescending {
        rest.upper = .excluded(prefix)
      } else {
        guard case .excluded(let behind) = KeyRange.prefix(prefix).upper else { return }
        rest.lower = .included(behind)
      }
    }
  }

  package func count(of group: Group) throws(DatabaseError) -> Int { try count(in: group.keys) }
  package func stats(of group: Group) throws(DatabaseError) -> ViewStatistics { try stats(in: group.keys) }

  /// Calls a closure with each row of a group, until it returns false.
  package func forEachRow(of group: Group, _ body: (StoredRow) throws -> Bool) throws {
    try reads.source.forEach(in: view.rows, group.keys) { key, value in
      try StoredRow.reading(key, value) { row in
        if !hidden.isEmpty, hidden.contains(Array(row.stored)) { return true }
        return try body(row)
      }
    }
  }

  /// Returns the key of the group of a row in Fleece, and the common prefix of its rows.
  private static func group(
    of key: [UInt8], _ value: [UInt8], _ level: Int?
  ) throws(DatabaseError) -> (key: [UInt8], prefix: [UInt8]) {
    try key.withBytes { (key) throws(DatabaseError) in
      try value.withBytes { (value) throws(DatabaseError) in
        try group(of: try StoredRow(key: key, value: value), level)
      }
    }
  }

  private static func group(
    of row: StoredRow, _ level: Int?
  ) throws(DatabaseError) -> (key: [UInt8], prefix: [UInt8]) {
    let whole = row.key
    guard let level, whole.first == CollationTag.array.rawValue else {
      return (try row.emittedKey(), Array(whole))
    }
    let elements = UnsafeRawBufferPointer(rebasing: whole.dropFirst())
    var reader = CollationReader(elements)
    for _ in 0..<max(0, level) {
      // An array with fewer elements forms its own group.
      if reader.offset < elements.count, elements[reader.offset] == 0 {
        return (try row.emittedKey(), Array(whole))
      }
      guard reader.skipWhole() else { throw DatabaseError(.corruptData, "the key of a row is damaged") }
    }
    let prefix = Array(whole[...reader.offset])
    let key = try (prefix + [0]).withBytes { (key) throws(DatabaseError) in try ViewReads.value(of: key) }
    return (key, prefix)
  }

  // MARK: Failures

  /// The number of documents for which the map failed.
  package var failureCount: Int { Int(clamping: view.record.failures) }

  /// Returns the documents for which the map failed, by id, with the reasons. O(documents with
  /// rows).
  package func failures(limit: Int = .max) throws(DatabaseError) -> [(id: String, reason: String)] {
    var list: [(id: String, reason: String)] = []
    guard limit > 0, view.record.failures > 0 else { return list }
    try reads.source.visit(in: view.emitted) { key, value in
      let emitted = try value.reading { (bytes) throws(DatabaseError) in try EmittedRows(bytes) }
      guard case .failure(let reason) = emitted else { return true }
      list.append((key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }, reason))
      return list.count < limit
    }
    return list
  }
}

extension StoredRow {
  /// Returns the value as a number.
  package func number() throws(DatabaseError) -> Double {
    let value = try value()
    do throws(FleeceError) {
      switch try value?.number() {
      case .integer(let number)?: return Double(number)
      case .unsigned(let number)?: return Double(number)
      case .double(let number)?: return number
      case nil: break
      }
    } catch {}
    throw DatabaseError(.corruptData, "the value of a row of the document \(id) is not a number")
  }

  /// Returns the emitted key in Fleece.
  package func emittedKey() throws(DatabaseError) -> [UInt8] { try ViewReads.value(of: key) }

  /// A copy of the value in Fleece; empty for null.
  package var copiedValue: [UInt8] { Array(valueBytes) }
}
