import LatewoodBytes
import LatewoodFleece
import LatewoodQuery
import LatewoodStore

/// A key of a view in the form in which rows are sorted.
package struct ViewRowKey: Sendable, Equatable {
  let bytes: [UInt8]

  /// - Parameter value: nil for null.
  /// - Throws: ``DocumentError`` `badArgument` for what cannot be a key.
  package init(_ value: FleeceValue?) throws(DocumentError) {
    do throws(FleeceError) { bytes = try ViewKey.bytes(of: value) } catch {
      throw DocumentError(.badArgument, "this cannot be a key of a view: \(error.reason)")
    }
  }

  /// Creates the key of a value in Fleece.
  ///
  /// - Throws: ``DocumentError`` `badArgument` for what cannot be a key.
  package init(fleece: [UInt8]) throws(DocumentError) {
    self = try fleece.withBytes { (bytes) throws(DocumentError) in
      let value: FleeceValue
      do throws(FleeceError) { value = try FleeceValue.root(of: bytes) } catch {
        throw DocumentError(.badArgument, "this cannot be a key of a view: \(error.reason)")
      }
      return try ViewRowKey(value)
    }
  }

  /// The bytes with which the keys start that continue this one: texts that start with this text,
  /// arrays that start with its elements. Nil for keys of other types.
  var prefix: [UInt8]? {
    switch bytes.first {
    case CollationTag.string.rawValue: bytes.dropLast(2)
    case CollationTag.array.rawValue: bytes.dropLast(1)
    default: nil
    }
  }
}

/// The rows of a view that match a query, and their order.
package struct ViewRange: Sendable {
  /// One end of a range: a key, or one document among those that emitted it.
  package struct End: Sendable {
    package var key: ViewRowKey
    package var id: String?

    package init(_ key: ViewRowKey, id: String? = nil) {
      self.key = key
      self.id = id
    }

    /// The least key of a row that is at this end or behind it.
    fileprivate var first: [UInt8] { key.bytes + (id ?? "").utf8 }

    /// The least key of a row that is behind this end. No key is the beginning of another, and no
    /// id has a control character.
    fileprivate var next: KeyRange.Bound {
      if let id { return .included(key.bytes + id.utf8 + [1]) }
      return KeyOrder.successor(ofPrefix: key.bytes).map { .included($0) } ?? .unbounded
    }

    /// The same as the upper bound of a range.
    fileprivate var nextAbove: KeyRange.Bound {
      if case .included(let key) = next { .excluded(key) } else { .unbounded }
    }
  }

  /// Where to begin, in the direction of the query.
  package var start: End?
  /// Where to end, in the direction of the query.
  package var end: End?
  package var includesEnd = true
  /// Only keys that continue this one.
  package var prefix: ViewRowKey?
  package var isDescending = false

  package init() {}

  /// The keys of the rows in the keyspace of rows.
  ///
  /// - Throws: ``DocumentError`` `badArgument` if the range ends before it begins, or a prefix is
  ///   neither a text nor an array.
  func keys() throws(DocumentError) -> KeyRange {
    if let start, let end {
      let (low, high) = isDescending ? (end, start) : (start, end)
      if high.key.bytes.lexicographicallyPrecedes(low.key.bytes) {
        throw DocumentError(
          .badArgument,
          "no row can be in the range: it ends before it begins; turn it round, or the direction")
      }
    }
    var range = KeyRange()
    if isDescending {
      if let start { range.upper = start.nextAbove }
      if let end { range.lower = includesEnd ? .included(end.first) : end.next }
    } else {
      if let start { range.lower = .included(start.first) }
      if let end { range.upper = includesEnd ? end.nextAbove : .excluded(end.first) }
    }
    guard let prefix else { return range }
    guard let bytes = prefix.prefix else {
      throw DocumentError(.badArgument, "only texts and arrays have prefixes")
    }
    return range.intersection(with: .prefix(bytes))
  }
}

extension KeyRange {
  /// The keys that are in both ranges, of which each includes its lower bound and excludes its
  /// upper one.
  func intersection(with other: KeyRange) -> KeyRange {
    var result = self
    if case .included(let low) = other.lower {
      if case .included(let own) = lower, !own.lexicographicallyPrecedes(low) {
      } else {
        result.lower = other.lower
      }
    }
    if case .excluded(let high) = other.upper {
      if case .excluded(let own) = upper, !high.lexicographicallyPrecedes(own) {
      } else {
        result.upper = other.upper
      }
    }
    return result
  }

  /// Whether a key is in the range, of the form of `intersection`.
  func holds(_ key: [UInt8]) -> Bool {
    if case .included(let low) = lower, key.lexicographicallyPrecedes(low) { return false }
    if case .excluded(let high) = upper, !key.lexicographicallyPrecedes(high) { return false }
    return true
  }
}
