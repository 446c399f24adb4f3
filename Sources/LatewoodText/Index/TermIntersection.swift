/// The documents that several terms have in common, found in one block of each at a time.
///
/// The cursors move past each other up to a document that all of them have. Then the rest of their
/// blocks is compared in one loop, and later calls take documents from a list.
final class TermIntersection {
  /// The cursors, beginning with the rarest term.
  private let terms: [TermCursor]
  // SAFETY: as in ``TermCursor``.
  /// Documents in common.
  @exclusivity(unchecked) private var numbers: [UInt64] = []
  /// The index in the list of the next document.
  @exclusivity(unchecked) private var next = 0
  /// The list has all documents in common up to this number that were not returned before.
  @exclusivity(unchecked) private var through: UInt64 = 0

  /// - Parameter terms: at least one cursor, for all fields, beginning with the rarest term.
  init(_ terms: [TermCursor]) { self.terms = terms }

  /// Moves the cursors to the first document in common from a number on.
  ///
  /// - Returns: its number, or ``TextIndexKey/infinite``.
  func advance(to target: UInt64) throws -> UInt64 {
    while next < numbers.count, numbers[next] < target { next += 1 }
    if next == numbers.count {
      guard try readList(from: target) else { return TextIndexKey.infinite }
    }
    let number = numbers[next]
    next += 1
    for term in terms { term.move(inBlockTo: number) }
    return number
  }

  /// Returns the number of documents that are left, and moves behind the last.
  func countRest() throws -> Int {
    var count = numbers.count - next
    while try readList(from: 0) { count += numbers.count }
    return count
  }

  /// Replaces the list by the next documents in common.
  ///
  /// - Returns: false if there are none.
  private func readList(from target: UInt64) throws -> Bool {
    numbers.removeAll(keepingCapacity: true)
    next = 0
    guard through < TextIndexKey.infinite,
      try reachCommonDocument(from: max(target, through + 1))
    else {
      through = TextIndexKey.infinite
      return false
    }
    through = terms.reduce(TextIndexKey.infinite) { min($0, $1.lastInBlock) }
    numbers.append(contentsOf: terms[0].restOfBlock)
    for term in terms.dropFirst() { keepCommon(with: term.restOfBlock) }
    return true
  }

  /// Moves the cursors to the first document in common from a number on.
  private func reachCommonDocument(from target: UInt64) throws -> Bool {
    var target = target
    var (agreeing, index) = (0, 0)
    while agreeing < terms.count {
      let number = try terms[index].move(to: target)
      if number == TextIndexKey.infinite { return false }
      agreeing = number == target ? agreeing + 1 : 1
      target = number
      index = index + 1 == terms.count ? 0 : index + 1
    }
    return true
  }

  /// Leaves only the documents in the list that are in another list.
  private func keepCommon(with others: ArraySlice<UInt64>) {
    let kept = numbers.withUnsafeMutableBufferPointer { (numbers) in
      others.withUnsafeBufferPointer { (others) in
        // SAFETY: the loop checks both indexes, and never keeps more numbers than it has read.
        var (kept, index, at) = (0, 0, 0)
        while index < numbers.count, at < others.count {
          let (left, right) = (numbers[index], others[at])
          // Without branches that cannot be predicted.
          numbers[kept] = left
          kept += left == right ? 1 : 0
          index += left <= right ? 1 : 0
          at += right <= left ? 1 : 0
        }
        return kept
      }
    }
    numbers.removeLast(numbers.count - kept)
  }
}
