import LatewoodFleece
import LatewoodQuery

/// A selector and a document, as two lines of JSON: the selector is parsed and applied to the
/// document.
///
/// A document never matches both a selector and its negation, and two values must sort like their
/// keys.
final class SelectorTarget: FuzzTarget {
  var words: [[UInt8]] {
    [
      "{\"$not\":", "\"$and\":[", "\"$or\":[", "\"$nor\":[", "\"$gt\":", "\"$lte\":", "\"$in\":[",
      "\"$nin\":[",
      "\"$all\":[", "\"$elemMatch\":{", "\"$allMatch\":{", "\"$keyMapMatch\":{", "\"$exists\":false",
      "\"$type\":\"array\"", "\"$size\":0", "\"$mod\":[2,1]", "\"$regex\":\"^a\"", "\"$beginsWith\":\"\"",
      "\"a.b\":", "\"a[0]\":", "9007199254740993", "18446744073709551615", "1e308", "\\u0000", "\n",
    ]
    .map { Array($0.utf8) }
  }

  func run(_ input: UnsafeRawBufferPointer) {
    let lines = [UInt8](input).split(separator: UInt8(ascii: "\n"), maxSplits: 1)
    guard let selector = body(lines.first), let document = body(lines.last) else { return }
    tolerate {
      try compareKeys(selector, document)
      let predicate = try MangoParser.predicate(of: selector.root)
      let opposite = try MangoParser.predicate(of: Self.negated(selector).root)
      try document.withRoot { root throws(FleeceError) in
        let isMatch = try predicate.matches(root)
        if isMatch, try opposite.matches(root) { find("a selector and its negation both match") }
        try compareIndexes(predicate, isMatch, root)
        if try Predicate.not(predicate).matches(root) == isMatch {
          find("a predicate and its opposite agree")
        }
      }
    }
  }

  /// Checks indexes: a matching document must have an entry in the part of every index that the
  /// selector needs. Any other document has none there if that part is declared exact.
  private func compareIndexes(_ predicate: Predicate, _ isMatch: Bool, _ root: FleeceValue)
    throws(FleeceError)
  {
    guard var members = try root.dictionary()?.members() else { return }
    while let member = try members.next() {
      let path = FieldPath(String(decoding: member.key, as: UTF8.self))
      for isEach in [false, true] {
        let part = IndexDefinition.Part(path, isDescending: isMatch, isEach: isEach)
        let definition: IndexDefinition
        do throws(QueryError) { definition = try IndexDefinition([part]) } catch { continue }
        guard let bounds = definition.bounds(for: Conjunction(predicate)) else { continue }
        var found: [KeyInterval] = []
        for key in try definition.keys(of: root) {
          found += bounds.ranges.filter { range in
            !key.bytes.lexicographicallyPrecedes(range.low)
              && range.high.map { key.bytes.lexicographicallyPrecedes($0) } != false
          }
        }
        if isMatch, found.isEmpty { find("a document that matches is not in the range of an index") }
        if !isMatch, bounds.isWhole, found.contains(where: { !$0.needsCheck }) {
          find("a document that does not match is in the range of an index")
        }
      }
    }
  }

  private func body(_ text: ArraySlice<UInt8>?) -> FleeceBody? {
    guard let text else { return nil }
    do { return FleeceBody(try JSON.fleece(from: Array(text))) } catch { return nil }
  }

  private static func negated(_ selector: FleeceBody) throws -> FleeceBody {
    var writer = FleeceWriter()
    try writer.beginDictionary()
    try writer.key("$not")
    try selector.root.write(to: &writer)
    try writer.endDictionary()
    return FleeceBody(written: try writer.finish())
  }

  private func compareKeys(_ left: FleeceBody, _ right: FleeceBody) throws {
    let (low, high) = (try key(left), try key(right))
    let order = low == high ? 0 : low.lexicographicallyPrecedes(high) ? -1 : 1
    let constant = try Constant(right.root)
    let compared = try left.withRoot { root throws(FleeceError) in try constant.compare(root) }
    if compared.signum() != order { find("keys have another order than values") }
    if order != 0, low.starts(with: high) || high.starts(with: low) { find("a key begins with another") }
  }

  private func key(_ body: FleeceBody) throws -> [UInt8] {
    var key = CollationKey()
    try body.withRoot { root throws(FleeceError) in try key.append(root) }
    return key.bytes
  }
}
