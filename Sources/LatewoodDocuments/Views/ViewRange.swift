import LatewoodBytes
import LatewoodFleece
import LatewoodQuery
import LatewoodStore

/// A view key in its sortable form.
package struct ViewRowKey: Sendable, Equatable {
  let bytes: [UInt8]

  /// - Parameter value: the key; nil for null.
  /// - Throws: ``DatabaseError`` `invalidParameter` for an invalid key.
  package init(_ value: FleeceValue?) throws(DatabaseError) {
    do throws(FleeceError) { bytes = try ViewKey.bytes(of: value) } catch {
      throw DatabaseError(.invalidParameter, "this is not a valid key of a view: \(error.reason)")
    }
  }

  /// Creates the key of a value in Fleece.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` for an invalid key.
  package init(fleece: [UInt8]) throws(DatabaseError) {
    self = try fleece.withBytes { (bytes) throws(DatabaseError) in
      let value: FleeceValue
      do throws(FleeceError) { value = try FleeceValue.root(of: bytes) } catch {
        throw DatabaseError(.invalidParameter, "this is not a valid key of a view: \(error.reason)")
      }
      return try ViewRowKey(value)
    }
  }

  /// The prefix of all keys that continue this one: strings that start with this string, arrays
  /// that start with its elements. Nil for keys of other types.
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
  /// An end of a range: a key, or one of the documents that emitted it.
  package struct End: Sendable {
    package var key: ViewRowKey
    package var id: String?

    package init(_ key: ViewRowKey, id: String? = nil) {
      self.key = key
      self.id = id
    }

    /// The smallest key of a row at this end or after it.
    fileprivate var first: [UInt8] { key.bytes + (id ?? "").utf8 }

    /// The smallest key of a row after this end, as a lower bound. Keys are never prefixes of each
    /// other, and ids do not contain control characters.
    fileprivate var next: KeyRange.Bound {
      if let id { return .included(key.bytes + id.utf8 + [1]) }
      return KeyOrder.successor(ofPrefix: key.bytes).map { .included($0) } ?? .unbounded
    }

    /// The smallest key of a row after this end, as an upper bound.
    fileprivate var nextAbove: KeyRange.Bound {
      if case .included(let key) = next { .excluded(key) } else { .unbounded }
    }
  }

  /// The beginning of the range, in the direction of the query.
  package var start: End?
  /// The end of the range, in the direction of the query.
  package var end: End?
  package var includesEnd = true
  /// The key that all keys must continue; nil for all keys.
  package var prefix: ViewRowKey?
  package var isDescending = false

  package init() {}

  /// Throws what every read of the range would throw, whether or not it reads any rows.
  package func check() throws(DatabaseError) { _ = try keys() }

  /// Returns the range in the keyspace of rows.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if the range ends before it begins, or a prefix
  ///   is neither a string nor an array.
  func keys() throws(DatabaseError) -> KeyRange {
    if let start, let end {
      let (low, high) = isDescending ? (end, start) : (start, end)
      let isReversed =
        if low.key == high.key, let first = low.id, let last = high.id {
          last.utf8.lexicographicallyPrecedes(first.utf8)
        } else {
          high.key.bytes.lexicographicallyPrecedes(low.key.bytes)
        }
      if isReversed {
        throw DatabaseError(
          .invalidParameter,
          "the range ends before it begins: reverse the range or the direction")
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
      throw DatabaseError(.invalidParameter, "only strings and arrays have prefixes")
    }
    return range.intersection(with: .prefix(bytes))
  }
}

extension KeyRange {
  /// Returns the keys in both ranges. Both must include their lower bounds and exclude their upper
  /// bounds.
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

  /// Returns whether a key is in the range, which must include its lower bound and exclude its
  /// upper bound.
  func holds(_ key: [UInt8]) -> Bool {
    if case .included(let low) = lower, key.lexicographicallyPrecedes(low) { return false }
    if case .excluded(let high) = upper, !key.lexicographicallyPrecedes(high) { return false }
    return true
  }
}
