import LatewoodFleece
import LatewoodTool

/// Arbitrary bytes as JSON, for both parsers of the package: the parser of documents and the parser
/// of the tool must accept the same texts.
final class JSONTarget: FuzzTarget {
  var words: [[UInt8]] {
    [
      "{}", "[]", "null", "true", "false", "\"a\":", "\\u0000", "\\ud83d\\ude00", "\\\"", "1e308", "-0",
      "0.1", "[[[[",
    ]
    .map { Array($0.utf8) }
  }

  private var parser = JSONParser()

  func run(_ input: UnsafeRawBufferPointer) {
    var refusal: FleeceError?
    do throws(FleeceError) { _ = try parser.parse(input) } catch {
      refusal = error
      if error.offset == nil, error.kind == .invalidJSON { find("a fault without a place: \(error)") }
      if let offset = error.offset, offset > input.count { find("a fault behind the end: \(error)") }
    }
    let text = [UInt8](input)
    let isAcceptedByTool = ToolProbe.isJSON(text)
    if refusal == nil, !isAcceptedByTool, !text.starts(with: [0xEF, 0xBB, 0xBF]) {
      find("the tool refuses what documents accept")
    }
    // Only the parser of documents refuses lone surrogates, and numbers beyond the range of
    // doubles.
    if let refusal, isAcceptedByTool, refusal.kind == .invalidJSON,
      !refusal.reason.contains("surrogate"), !refusal.reason.contains("larger than any")
    {
      find("documents refuse what the tool accepts: \(refusal)")
    }
  }
}
