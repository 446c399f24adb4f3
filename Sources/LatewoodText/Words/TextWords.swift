/// The words of a text, among its segments: those with a letter or a number.
///
/// Neighbouring characters of scripts without spaces, such as Han, kana and Thai, are one *run*.
/// Dividing a run into words would require a dictionary.
struct TextWords: Sequence, IteratorProtocol {
  /// A word or a run.
  struct Word: Equatable {
    /// The indices of its scalars.
    var range: Range<Int>
    var isRun: Bool
  }

  private let scalars: ArraySlice<UInt32>
  private var segments: WordSegments
  /// The rest of a segment that has both letters and characters of scripts without spaces.
  private var segment = 0..<0

  init(_ scalars: ArraySlice<UInt32>) {
    self.scalars = scalars
    segments = WordSegments(scalars)
  }

  mutating func next() -> Word? {
    while let start = nextStart() {
      let isRun = WordBreakClass(scalars[start]).isUnspaced
      var end = start + 1
      while true {
        if end == segment.upperBound {
          guard isRun, continuesRun() else { break }
          continue
        }
        let scalar = WordBreakClass(scalars[end])
        if !scalar.kind.isIgnored, scalar.isUnspaced != isRun, isRun || scalar.isUnspaced { break }
        end += 1
      }
      segment = end..<segment.upperBound
      return Word(range: start..<end, isRun: isRun)
    }
    return nil
  }

  /// Returns the index of the next letter or number, in the current segment or in a later one.
  private mutating func nextStart() -> Int? {
    while true {
      if let start = segment.first(where: { WordBreakClass(scalars[$0]).isLetter }) { return start }
      guard let following = segments.next() else { return nil }
      segment = following
    }
  }

  /// Moves to the next segment, if it begins with a character of a script without spaces.
  private mutating func continuesRun() -> Bool {
    guard segment.upperBound < scalars.endIndex,
      WordBreakClass(scalars[segment.upperBound]).isUnspaced, let following = segments.next()
    else { return false }
    segment = following
    return true
  }
}
