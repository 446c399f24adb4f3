import LatewoodFleece
import LatewoodQuery

/// A selector and a document, two lines of JSON: what is read of the one is asked of the other.
///
/// No document may obey a selector and its negation, and the order of two values must be that of
/// their keys.
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
      let predicate = try MangoSelector.predicate(of: selector.root)
      let opposite = try MangoSelector.predicate(of: Self.negated(selector).root)
      try document.withRoot { root throws(FleeceError) in
        let isMatch = try predicate.matches(root)
        if isMatch, try opposite.matches(root) { find("a selector and its negation both match") }
        if try Predicate.not(predicate).matches(root) == isMatch {
          find("a predicate and its opposite agree")
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
