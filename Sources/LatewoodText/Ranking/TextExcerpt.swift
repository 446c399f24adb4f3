/// A part of a text around the words that a query has found.
package struct TextExcerpt: Equatable, Sendable {
  /// The part of the text, as offsets in UTF-8.
  package var range: Range<Int>
  /// The found words in it, in order and apart from each other, as offsets in UTF-8 in the whole
  /// text.
  package var highlights: [Range<Int>]

  /// Returns the ranges of occurrences in one text, in order. Overlapping ranges are merged.
  package static func highlights(_ occurrences: [TextOccurrences.Occurrence]) -> [Range<Int>] {
    var result: [Range<Int>] = []
    for range in occurrences.map(\.range).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = result.last, range.lowerBound < last.upperBound {
        result[result.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        result.append(range)
      }
    }
    return result
  }

  /// Chooses the best part of a text: the part with the most different phrases, then the most
  /// occurrences, then the first. Among equals, a part that begins a sentence is better than the
  /// middle of a sentence.
  ///
  /// - Parameters:
  ///   - occurrences: the occurrences in this text.
  ///   - tokens: the tokens of the text.
  ///   - wordCount: the maximum number of words.
  package init(
    of text: String, _ tokens: [TextToken], _ occurrences: [TextOccurrences.Occurrence], wordCount: Int
  ) {
    let count = max(1, wordCount)
    let sorted = occurrences.sorted { $0.position < $1.position }
    var (bestStart, bestScore) = (0, -1)
    var counts: [Int: Int] = [:]
    var end = 0
    for start in sorted.indices {
      while end < sorted.count, sorted[end].position < sorted[start].position + count {
        counts[sorted[end].phrase, default: 0] += 1
        end += 1
      }
      let score = counts.count * 1_000_000 + min(end - start, 999_999)
      if score > bestScore { (bestStart, bestScore) = (start, score) }
      let phrase = sorted[start].phrase
      counts[phrase] = counts[phrase].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
    guard !tokens.isEmpty else {
      self.init(range: 0..<text.utf8.count, highlights: [])
      return
    }
    var first = 0
    var last = min(count, tokens.count) - 1
    if !sorted.isEmpty {
      let position = sorted[bestStart].position
      let lastPosition = sorted.last { $0.position < position + count }?.position ?? position
      first = tokens.firstIndex { $0.position >= position } ?? 0
      let span = lastPosition - position + 1
      // The found words are in the middle, unless a sentence begins shortly before them.
      let earliest = max(0, first - (count - min(count, span)))
      let middle = max(0, first - (count - min(count, span)) / 2)
      first = TextExcerpt.sentenceStart(of: text, tokens, in: earliest...first) ?? middle
      first = min(first, max(0, tokens.count - count))
      last = min(tokens.count, first + count) - 1
    }
    let start = first == 0 ? 0 : tokens[first].range.lowerBound
    let stop = last == tokens.count - 1 ? text.utf8.count : tokens[last].range.upperBound
    self.init(
      range: start..<max(start, stop),
      highlights: TextExcerpt.highlights(sorted).filter { $0.lowerBound >= start && $0.upperBound <= stop })
  }

  package init(range: Range<Int>, highlights: [Range<Int>]) {
    self.range = range
    self.highlights = highlights
  }

  /// Returns the last token of a range that begins a sentence: after a full stop, an exclamation or
  /// question mark or the end of a line.
  private static func sentenceStart(
    of text: String, _ tokens: [TextToken], in range: ClosedRange<Int>
  ) -> Int? {
    let utf8 = text.utf8
    var index = range.upperBound
    while index >= range.lowerBound {
      if index == 0 { return 0 }
      let (end, next) = (tokens[index - 1].range.upperBound, tokens[index].range.lowerBound)
      // Pairs of a script without spaces overlap.
      if end < next {
        let start = utf8.index(utf8.startIndex, offsetBy: end)
        let bytes = utf8[start..<utf8.index(start, offsetBy: next - end)]
        if bytes.contains(where: { $0 == 0x2E || $0 == 0x21 || $0 == 0x3F || $0 == 0x0A }) { return index }
      }
      index -= 1
    }
    return nil
  }
}
