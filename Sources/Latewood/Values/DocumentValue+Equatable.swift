/// Values are equal if their JSON is equal: numbers are compared by value, keys and strings by
/// their bytes, and data never equals a string. A value that cannot be stored never equals another
/// value: a number that is not finite, a date outside the years 0 to 9999, or a value of a type
/// that documents cannot contain. O(n), at any depth.
extension DocumentValue: Equatable {
  /// Returns whether both values have the same JSON.
  public static func == (a: DocumentValue, b: DocumentValue) -> Bool {
    guard var comparison = ValueComparison(a, b) else { return a.isEqualAlone(to: b) }
    return comparison.run()
  }

  /// Compares two values of which at least one is not a collection built in Swift.
  fileprivate func isEqualAlone(to other: DocumentValue) -> Bool {
    if case .refused = content { return false }
    if case .refused = other.content { return false }
    switch (kind, other.kind) {
    case (nil, nil), (.null?, .null?): return true
    case (.boolean?, .boolean?): return bool == other.bool
    case (.number?, .number?):
      if case .double(let value)? = number, !value.isFinite { return false }
      return number == other.number
    case (.string?, .string?):
      guard let first = string, let second = other.string else { return false }
      return first.utf8.elementsEqual(second.utf8)
    case (.data?, .data?): return bytes == other.bytes
    case (.array?, .array?), (.dictionary?, .dictionary?):
      guard count == other.count else { return false }
      // One of them is stored, so it is within the limits. Equal values have equal bytes, and
      // encoding them takes bounded time and stack.
      guard let first = try? fleece(), let second = try? other.fleece() else { return false }
      return first == second
    default: return false
    }
  }
}

/// Compares collections built in Swift without recursion, because they can be nested to any depth.
private struct ValueComparison {
  private struct Pair: Hashable {
    var first, second: ObjectIdentifier
  }

  private static let fewPairs = 1000

  private var rest: [(DocumentValue, DocumentValue)]
  /// The pairs of collections that have been compared, recorded once there are many. A few
  /// collections that contain each other repeatedly can form exponentially many pairs.
  private var seen: Set<Pair> = []
  private var count = 0

  /// Returns nil unless both are collections built in Swift.
  init?(_ a: DocumentValue, _ b: DocumentValue) {
    switch (a.content, b.content) {
    case (.array, .array), (.dictionary, .dictionary): rest = [(a, b)]
    default: return nil
    }
  }

  mutating func run() -> Bool {
    while let (a, b) = rest.popLast() {
      switch (a.content, b.content) {
      case (.array(let first), .array(let second)):
        guard first.elements.count == second.elements.count else { return false }
        guard isNew(first, second) else { continue }
        for pair in zip(first.elements, second.elements) {
          guard takes(pair.0, pair.1) else { return false }
        }
      case (.dictionary(let first), .dictionary(let second)):
        guard isNew(first, second) else { continue }
        let (members, others) = (first.members, second.members)
        guard members.count == others.count else { return false }
        for (key, value) in members {
          guard let other = others[key], takes(value, other) else { return false }
        }
      default:
        guard a.isEqualAlone(to: b) else { return false }
      }
    }
    return true
  }

  /// Compares two scalars immediately, and queues two collections for later.
  private mutating func takes(_ a: DocumentValue, _ b: DocumentValue) -> Bool {
    switch (a.content, b.content) {
    case (.array, .array), (.dictionary, .dictionary):
      rest.append((a, b))
      return true
    default: return a.isEqualAlone(to: b)
    }
  }

  private mutating func isNew(_ first: AnyObject, _ second: AnyObject) -> Bool {
    count += 1
    guard count > Self.fewPairs else { return true }
    return seen.insert(Pair(first: ObjectIdentifier(first), second: ObjectIdentifier(second))).inserted
  }
}
