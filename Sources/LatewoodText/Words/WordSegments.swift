/// The segments of a text between word boundaries, by the rules of Unicode Standard Annex 29.
///
/// A segment is a word, spaces or punctuation. Together, the segments are the whole text. Takes
/// time proportional to its length: a rule looks ahead past marks at most once for each scalar
/// between two letters or numbers.
package struct WordSegments: Sequence, IteratorProtocol {
  private let scalars: ArraySlice<UInt32>
  private var at: Int

  /// Creates the segments of scalars, as ranges of indices.
  package init(_ scalars: ArraySlice<UInt32>) {
    self.scalars = scalars
    at = scalars.startIndex
  }

  package mutating func next() -> Range<Int>? {
    guard at < scalars.endIndex else { return nil }
    let start = at
    var previous = WordBreakClass(scalars[at])
    at += 1
    /// The last scalar that rule WB4 does not skip, and the one before it.
    var last = previous.kind
    var beforeLast = WordBreakClass.Kind.other
    var flags = last == .regionalIndicator ? 1 : 0
    while at < scalars.endIndex {
      let current = WordBreakClass(scalars[at])
      let kind = current.kind
      if previous.kind == .carriageReturn, kind == .lineFeed {
        // WB3
      } else if previous.kind.isNewline || kind.isNewline {
        break  // WB3a, WB3b
      } else if previous.kind == .zeroWidthJoiner, current.isPictographic {
        // WB3c
      } else if previous.kind == .space, kind == .space {
        // WB3d
      } else if kind.isIgnored {
        // WB4
        previous = current
        at += 1
        continue
      } else if !joins(last, kind, after: beforeLast, flags: flags) {
        break
      }
      flags = kind == .regionalIndicator ? flags + 1 : 0
      beforeLast = last
      last = kind
      previous = current
      at += 1
    }
    return start..<at
  }

  /// Rules WB5 to WB16 for the scalar at the cursor and the one before it.
  private func joins(
    _ last: WordBreakClass.Kind, _ kind: WordBreakClass.Kind, after beforeLast: WordBreakClass.Kind,
    flags: Int
  ) -> Bool {
    switch (last, kind) {
    case (_, _) where last.isLetter && kind.isLetter: true  // WB5
    case (_, _) where last.isLetter && (kind == .midLetter || kind == .midNumberLetter):
      following.isLetter  // WB6
    case (_, .singleQuote) where last.isLetter:
      last == .hebrewLetter || following.isLetter  // WB6, WB7a
    case (_, _) where kind.isLetter && (last == .midLetter || last.isMiddle):
      beforeLast.isLetter  // WB7
    case (.hebrewLetter, .doubleQuote):
      following == .hebrewLetter  // WB7b
    case (.doubleQuote, .hebrewLetter):
      beforeLast == .hebrewLetter  // WB7c
    case (.numeric, .numeric): true  // WB8
    case (_, .numeric) where last.isLetter: true  // WB9
    case (.numeric, _) where kind.isLetter: true  // WB10
    case (_, .numeric) where last == .midNumber || last.isMiddle:
      beforeLast == .numeric  // WB11
    case (.numeric, _) where kind == .midNumber || kind.isMiddle:
      following == .numeric  // WB12
    case (.katakana, .katakana): true  // WB13
    case (.extendNumberLetter, .extendNumberLetter): true  // WB13a
    case (_, .extendNumberLetter): last.isLetter || last == .numeric || last == .katakana  // WB13a
    case (.extendNumberLetter, _):
      kind.isLetter || kind == .numeric || kind == .katakana  // WB13b
    case (.regionalIndicator, .regionalIndicator): flags % 2 == 1  // WB15, WB16
    default: false  // WB999
    }
  }

  /// The next scalar after the one at the cursor that rule WB4 does not skip.
  private var following: WordBreakClass.Kind {
    var next = at + 1
    while next < scalars.endIndex {
      let kind = WordBreakClass(scalars[next]).kind
      if !kind.isIgnored { return kind }
      next += 1
    }
    return .other
  }
}
