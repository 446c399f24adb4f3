import LatewoodFleece

/// Arbitrary bytes as JSON: the parser, and the check of a text that arrives in pieces.
final class JSONTarget: FuzzTarget {
  var words: [[UInt8]] {
    [
      "{}", "[]", "null", "true", "false", "\"a\":", "\\u0000", "\\ud83d\\ude00", "\\\"", "1e308", "-0",
      "0.1", "[[[[",
    ]
    .map { Array($0.utf8) }
  }

  private var parser = JSONParser()
  private var check = JSONCheck()

  func run(_ input: UnsafeRawBufferPointer) {
    do throws(FleeceError) { _ = try parser.parse(input) } catch {
      if error.offset == nil, error.kind == .invalidJSON { find("a fault without a place: \(error)") }
      if let offset = error.offset, offset > input.count { find("a fault behind the end: \(error)") }
    }
    checkPieces(input)
    compact(Array(input))
  }

  /// The first part of a text is refused, or has a value, only if the whole text does.
  private func checkPieces(_ input: UnsafeRawBufferPointer) {
    let whole = extent(of: input, isComplete: true)
    var length = 1
    while length < input.count {
      switch (extent(of: UnsafeRawBufferPointer(rebasing: input[..<length]), isComplete: false), whole) {
      case (.success(nil), _), (.failure, .failure): break
      case (.success(let part), .success(let whole)) where part == whole: break
      case (let part, _): find("\(length) bytes of a text: \(part), all: \(whole)")
      }
      length = length * 2 + 1
    }
  }

  private func extent(
    of text: UnsafeRawBufferPointer, isComplete: Bool
  ) -> Result<JSONCheck.Extent?, FleeceError> {
    Result { () throws(FleeceError) in try check.value(of: text, isComplete: isComplete) }
  }

  private func compact(_ text: [UInt8]) {
    guard let compact = JSON.compact(text) else { return }
    if JSON.compact(compact) != compact { find("a compact text is not compact") }
    compact.withUnsafeBytes { compact in
      guard let members = JSONSlice(compact).members() else { return }
      if !JSONSlice.object(members).elementsEqual(compact) { find("members do not make up their object") }
    }
  }
}
