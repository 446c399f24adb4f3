/// Splits a text into the values at its top: the elements of one array, or values one after the
/// other (JSON Lines and its kin).
///
/// Memory holds one element at a time.
struct JSONElements {
  enum Layout: Equatable { case array, sequence }

  private var scanner: JSONScanner
  private(set) var layout: Layout = .sequence
  /// Of the element that was read last, from 1.
  private(set) var line = 1
  /// How many elements have been read.
  private(set) var count = 0
  private var isComplete = false
  /// Where the element that was read last ends.
  private var endOfLast = 0

  init(_ input: JSONInput) { scanner = JSONScanner(input: input) }

  /// Reads to the first byte that says something. Nil if there is none. Must be called once, before
  /// `next`.
  ///
  /// - Parameter asSequence: an array at the top is itself an element.
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

  /// Puts the compact form of the next element in the place of what `element` holds; false if there
  /// is none.
  mutating func next(into element: inout [UInt8]) throws(Failure) -> Bool {
    element.removeAll(keepingCapacity: true)
    guard !isComplete else { return false }
    let found = layout == .array ? try nextOfArray(into: &element) : try nextOfSequence(into: &element)
    endOfLast = scanner.input.offset
    if found { count += 1 } else { isComplete = true }
    return found
  }

  /// Whether nothing but white space follows the element that was read last.
  mutating func isAtEnd() throws(Failure) -> Bool {
    try scanner.input.skipSpace()
    return try scanner.input.peek() == nil
  }

  /// The failure that names the place of the element that was read last.
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
