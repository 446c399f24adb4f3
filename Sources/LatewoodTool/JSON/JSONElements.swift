/// Splits a text into its top-level values: the elements of one array, or a sequence of values
/// (JSON Lines and the like).
///
/// Keeps one element in memory at a time.
struct JSONElements {
  enum Layout: Equatable { case array, sequence }

  private var scanner: JSONScanner
  private(set) var layout: Layout = .sequence
  /// The line of the last element, from 1.
  private(set) var line = 1
  /// The number of elements so far.
  private(set) var count = 0
  private var isComplete = false
  /// The offset at which the last element ends.
  private var endOfLast = 0

  init(_ input: JSONInput) { scanner = JSONScanner(input: input) }

  /// Skips to the first byte that is not white space. Nil if there is none. Must be called once,
  /// before `next`.
  ///
  /// - Parameter asSequence: whether an array at the top level is itself an element.
  mutating func begin(asSequence: Bool) throws(Failure) -> Layout? {
    try scanner.input.skipByteOrderMark()
    try scanner.input.skipSpace()
    guard let first = try scanner.input.peek() else {
      isComplete = true
      return nil
    }
    if first == UInt8(ascii: "["), !asSequence {
      layout = .array
      scanner.input.advance()
    }
    return layout
  }

  /// Replaces `element` by the next element in compact form; returns false at the end.
  mutating func next(into element: inout [UInt8]) throws(Failure) -> Bool {
    element.removeAll(keepingCapacity: true)
    guard !isComplete else { return false }
    let found = layout == .array ? try nextOfArray(into: &element) : try nextOfSequence(into: &element)
    endOfLast = scanner.input.offset
    if found { count += 1 } else { isComplete = true }
    return found
  }

  /// Returns whether only white space follows the last element.
  mutating func isAtEnd() throws(Failure) -> Bool {
    try scanner.input.skipSpace()
    return try scanner.input.peek() == nil
  }

  /// Returns a failure with the place of the last element.
  func failure(_ reason: String, advice: String) -> Failure {
    var failure = Failure.badInput(reason, advice: advice)
    failure.line = line
    return failure
  }

  private mutating func nextOfArray(into element: inout [UInt8]) throws(Failure) -> Bool {
    try scanner.input.skipSpace()
    let byte = try scanner.input.peek()
    if byte == UInt8(ascii: "]") {
      scanner.input.advance()
      guard try isAtEnd() else {
        throw scanner.input.failure("something follows after the end of the array")
      }
      return false
    }
    if count > 0 {
      guard let byte else { throw scanner.input.failure("the text ends inside an array") }
      guard byte == UInt8(ascii: ",") else {
        throw scanner.input.failure("\(JSONScanner.shown(byte)) stands where a comma or ] should be")
      }
      scanner.input.advance()
      try scanner.input.skipSpace()
    }
    line = scanner.input.line
    try scanner.value(into: &element, depthLimit: JSONScanner.depthLimit - 1)
    return true
  }

  private mutating func nextOfSequence(into element: inout [UInt8]) throws(Failure) -> Bool {
    guard try !isAtEnd() else { return false }
    if count > 0, scanner.input.offset == endOfLast {
      throw scanner.input.failure("a value must be followed by white space, best a line break")
    }
    line = scanner.input.line
    try scanner.value(into: &element)
    return true
  }
}
