/// Equal if the JSON is: numbers by value, keys and strings by their bytes, data apart from
/// strings. What cannot be stored because it has no form in JSON, a number that is not finite or a
/// date outside of the years 0 to 9999, is equal to nothing. O(n), whatever the depth.
extension DocumentValue: Equatable {
  public static func == (a: DocumentValue, b: DocumentValue) -> Bool {
    guard var comparison = ValueComparison(a, b) else { return a.isEqualAlone(to: b) }
    return comparison.run()
  }

  /// Of two values of which one at least is no collection that is built in Swift.
  fileprivate func isEqualAlone(to other: DocumentValue) -> Bool {
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
      // One is stored, and so within the limits. Equal values have equal bytes, and making them is
      // bounded in time and stack.
      guard let first = try? fleece(), let second = try? other.fleece() else { return false }
      return first == second
    default: return false
    }
  }
}

/// Compares collections that are built in Swift, which can be nested to any depth: without a
/// recursion.
private struct ValueComparison {
  private struct Pair: Hashable {
    var first, second: ObjectIdentifier
  }

  private static let fewPairs = 1000

  private var rest: [(DocumentValue, DocumentValue)]
  /// Pairs of collections that are being compared, once there are many: a few of them, one inside
  /// of the other again and again, can stand for endlessly many.
  private var seen: Set<Pair> = []
  private var count = 0

  /// Nil if these are not two of them.
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
        guard first.members.count == second.members.count else { return false }
        guard isNew(first, second) else { continue }
        for (key, value) in first.members {
          guard let other = second.members[key], takes(value, other) else { return false }
        }
      default:
        guard a.isEqualAlone(to: b) else { return false }
      }
    }
    return true
  }

  /// Compares what is no collection at once, and leaves collections for later.
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
