/// Suffixes, each with an action of a stemmer, searched for the longest one that a word ends
/// in.
///
/// The suffixes form a trie that is read from the last letter of a word to the first. A search
/// looks at each letter of the suffix once and allocates nothing.
struct SuffixTable<Action: Sendable>: Sendable {
  private var nodes: [Node]
  private var actions: [Action] = []

  private struct Node: Sendable {
    let letter: UInt32
    /// The index of the first child. Its siblings follow.
    var firstChild = 0
    var childCount = 0
    /// The index of the action of a suffix that begins here, or -1.
    var action = -1
  }

  /// Creates a table from rules: suffixes separated by spaces, and their action. A capital letter
  /// stands for a marked letter, see ``StemWord``.
  init(_ rules: [(suffixes: String, action: Action)]) {
    nodes = [Node(letter: 0)]
    var suffixes: [(letters: [UInt32], action: Int)] = []
    for rule in rules {
      for suffix in rule.suffixes.split(separator: " ") {
        let letters = suffix.unicodeScalars.reversed().map { StemWord.letter($0.value) }
        suffixes.append((letters, actions.count))
      }
      actions.append(rule.action)
    }
    suffixes.sort { $0.letters.lexicographicallyPrecedes($1.letters) }
    addChildren(of: 0, suffixes[...], depth: 0)
  }

  /// Adds the nodes of sorted suffixes that have their last letters, as many as `depth`, in common.
  private mutating func addChildren(
    of node: Int, _ suffixes: ArraySlice<(letters: [UInt32], action: Int)>, depth: Int
  ) {
    var rest = suffixes
    if let first = rest.first, first.letters.count == depth {
      nodes[node].action = first.action
      rest.removeFirst()
    }
    nodes[node].firstChild = nodes.count
    var groups: [ArraySlice<(letters: [UInt32], action: Int)>] = []
    while let letter = rest.first?.letters[depth] {
      let end = rest.firstIndex { $0.letters[depth] != letter } ?? rest.endIndex
      groups.append(rest[..<end])
      nodes.append(Node(letter: letter))
      rest = rest[end...]
    }
    nodes[node].childCount = groups.count
    let firstChild = nodes[node].firstChild
    for (index, group) in groups.enumerated() {
      addChildren(of: firstChild + index, group, depth: depth + 1)
    }
  }

  /// Returns the longest suffix of the letters in a range, or nil.
  func longest(in letters: [UInt32], _ range: Range<Int>) -> (length: Int, action: Action)? {
    var node = nodes[0]
    var found: (length: Int, action: Int)?
    var index = range.upperBound
    while index > range.lowerBound {
      index -= 1
      let letter = letters[index]
      var child = node.firstChild
      let end = child + node.childCount
      while child < end, nodes[child].letter != letter { child += 1 }
      if child == end { break }
      node = nodes[child]
      if node.action >= 0 { found = (range.upperBound - index, node.action) }
    }
    guard let found else { return nil }
    return (found.length, actions[found.action])
  }
}

extension SuffixTable<Void> {
  /// Creates a table of suffixes that are treated alike, separated by spaces.
  init(_ suffixes: String) { self.init([(suffixes, ())]) }
}

/// A set of letters: ASCII, Latin-1 and Cyrillic ones, and marked letters of ASCII.
struct LetterSet: Sendable, ExpressibleByStringLiteral {
  private var bits = SIMD8<UInt64>.zero

  /// Creates a set of the letters in a string. A capital letter stands for a marked letter, see
  /// ``StemWord``.
  init(stringLiteral letters: String) {
    for scalar in letters.unicodeScalars {
      if let bit = LetterSet.bit(StemWord.letter(scalar.value)) { bits[bit >> 6] |= 1 << UInt64(bit & 63) }
    }
  }

  @inline(__always)
  func contains(_ letter: UInt32) -> Bool {
    guard let bit = LetterSet.bit(letter) else { return false }
    return bits[bit >> 6] >> UInt64(bit & 63) & 1 != 0
  }

  @inline(__always)
  private static func bit(_ letter: UInt32) -> Int? {
    if letter < 0x100 { return Int(letter) }
    if letter &- 0x400 < 0x80 { return Int(letter - 0x400 + 0x100) }
    if letter &- StemWord.mark < 0x80 { return Int(letter - StemWord.mark + 0x180) }
    return nil
  }

  static func + (left: LetterSet, right: LetterSet) -> LetterSet {
    var union = left
    union.bits |= right.bits
    return union
  }
}
