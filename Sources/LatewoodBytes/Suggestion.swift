/// Suggests a known word for an unknown one.
package enum Suggestion {
  package static func advice(for word: String, among known: [String], otherwise: String) -> String {
    best(for: word, among: known).map { "Did you mean \($0)?" } ?? otherwise
  }

  /// Returns the known word with the smallest edit distance, if that is small relative to its
  /// length.
  package static func best(for word: String, among known: [String]) -> String? {
    let candidates = known.map { (word: $0, edits: edits(from: Array(word.utf8), to: Array($0.utf8))) }
    guard let best = candidates.min(by: { $0.edits < $1.edits }) else { return nil }
    return best.edits <= max(1, best.word.utf8.count / 3) ? best.word : nil
  }

  /// The edit distance: insertions, removals and replacements of single bytes, and swaps of
  /// neighbours (optimal string alignment).
  private static func edits(from a: [UInt8], to b: [UInt8]) -> Int {
    // A word far longer than all commands is not a typing error.
    guard a.count < 64 else { return a.count }
    var rows = [Array(0...b.count)]
    for (i, left) in a.enumerated() {
      var row = [i + 1]
      for (j, right) in b.enumerated() {
        var best = min(rows[i][j] + (left == right ? 0 : 1), min(rows[i][j + 1], row[j]) + 1)
        if i > 0, j > 0, left == b[j - 1], right == a[i - 1] { best = min(best, rows[i - 1][j - 1] + 1) }
        row.append(best)
      }
      rows.append(row)
    }
    return rows[a.count][b.count]
  }
}
