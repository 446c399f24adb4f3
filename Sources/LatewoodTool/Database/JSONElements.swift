import LatewoodFleece

/// Splits a text into its top-level values: the elements of one array, or a sequence of values
/// (JSON Lines and the like). The array may be a member of an object.
///
/// One element at a time is in memory.
struct JSONElements {
  enum Layout: Equatable { case array, sequence }

  private let window: TextWindow
  private(set) var layout: Layout = .sequence
  /// The line of the last element, counted from 1.
  private(set) var line = 1
  /// The number of elements so far.
  private(set) var count = 0
  private var isComplete = false
  /// The offset at which the last element ends.
  private var endOfLast = 0
  /// The path of the array: the names of the members that contain it.
  private var path: [[UInt8]] = []

  init(_ window: TextWindow) { self.window = window }

  /// The last element, in compact form. Valid until another element is read or this is given up.
  var element: JSONSlice { window.value }

  /// Gives up the memory of the last element.
  func forgetElement() { window.forgetValue() }

  /// Skips to the first byte that is not white space. Returns nil if there is no such byte. Must be
  /// called once, before `next`.
  ///
  /// - Parameter asSequence: whether an array at the top level is itself an element.
  mutating func begin(asSequence: Bool) throws -> Layout? {
    try window.skipByteOrderMark()
    guard let first = try window.skipSpace() else {
      isComplete = true
      return nil
    }
    if first == UInt8(ascii: "["), !asSequence {
      layout = .array
      window.advance()
    }
    return layout
  }

  /// Skips to the array at a path of names in the one object of the text. Called instead of
  /// `begin(asSequence:)`.
  ///
  /// - Throws: `Failure` with the existing names, or if the value is not an array.
  mutating func begin(at path: [[UInt8]]) throws {
    try window.skipByteOrderMark()
    for (depth, name) in path.enumerated() {
      let before = Array(path[..<depth])
      try expect("{", before, is: "an object")
      var others: [[UInt8]] = []
      var otherCount = 0
      while true {
        guard let member = try nextMember(isFirst: otherCount == 0) else {
          throw missing(name, in: before, others, of: otherCount)
        }
        if member == name { break }
        otherCount += 1
        if others.count < 8 { others.append(member) }
        try skipValue()
      }
    }
    try expect("[", path, is: "an array")
    layout = .array
    self.path = path
  }

  /// Reads the next element; returns false at the end.
  mutating func next() throws -> Bool {
    guard !isComplete else { return false }
    window.forgetValue()
    let found = layout == .array ? try nextOfArray() : try nextOfSequence()
    endOfLast = window.offset
    if found { count += 1 } else { isComplete = true }
    return found
  }

  /// Passes the next line of a sequence to a closure, unchanged, and counts it as an element if the
  /// closure returns true. Returns false if the closure does, or if the buffer does not contain the
  /// entire line. In both cases `next` reads the element.
  ///
  /// - Parameter body: receives the line, which need not be JSON or a single element; the index of
  ///   the element; and the number of the line.
  mutating func nextLine(
    _ body: (_ text: UnsafeRawBufferPointer, _ index: Int, _ line: Int) throws -> Bool
  ) throws -> Bool {
    window.forgetValue()
    guard layout == .sequence, !isComplete, try !isAtEnd(), count == 0 || window.offset > endOfLast
    else { return false }
    // A parser of the line would skip a byte order mark, which is allowed only at the start of the
    // source.
    guard try window.peek() != 0xEF else { return false }
    line = window.line
    let (index, number) = (count, line)
    guard
      try window.takeLine({ text in try body(text, index, number) })
    else { return false }
    endOfLast = window.offset
    count += 1
    return true
  }

  /// Returns whether only white space follows the last element.
  func isAtEnd() throws -> Bool {
    try window.skipSpace() == nil
  }

  /// Returns a failure with the position of the last element.
  func failure(_ reason: String, advice: String) -> Failure {
    var failure = Failure.badInput(reason, advice: advice)
    failure.line = line
    return failure
  }

  private mutating func nextOfArray() throws -> Bool {
    let byte = try window.skipSpace()
    if byte == UInt8(ascii: "]") {
      window.advance()
      try endObjects()
      guard try isAtEnd() else {
        throw window.failure(
          "something follows after the end of the \(path.isEmpty ? "array" : "object")")
      }
      return false
    }
    if count > 0 {
      guard let byte else { throw window.failure("the text ends inside an array") }
      guard byte == UInt8(ascii: ",") else {
        throw window.failure("expected a comma or ], but found \(JSON.shown(byte))")
      }
      window.advance()
      try window.skipSpace()
    }
    line = window.line
    try window.readValue(depthLimit: FleeceLimits.depth - 1 - path.count)
    return true
  }

  private mutating func nextOfSequence() throws -> Bool {
    guard try !isAtEnd() else { return false }
    if count > 0, window.offset == endOfLast {
      throw window.failure("a value must be followed by white space, best a line break")
    }
    line = window.line
    try window.readValue(depthLimit: FleeceLimits.depth)
    return true
  }
}

extension JSONElements {
  /// Reads to the ends of the objects around the array.
  private func endObjects() throws {
    for name in path.reversed() {
      while let member = try nextMember(isFirst: false) {
        guard member != name else {
          throw window.failure("the member \(Arguments.quoted(name)) is there a second time")
        }
        try skipValue()
      }
    }
  }

  /// Returns the name of the next member of an object, which is empty if it is not Unicode; nil at
  /// the end of the object.
  private func nextMember(isFirst: Bool) throws -> [UInt8]? {
    let byte = try window.skipSpace()
    if byte == UInt8(ascii: "}") {
      window.advance()
      return nil
    }
    if !isFirst {
      guard let byte else { throw window.failure("the text ends inside an object") }
      guard byte == UInt8(ascii: ",") else {
        throw window.failure("expected a comma or }, but found \(JSON.shown(byte))")
      }
      window.advance()
      try window.skipSpace()
    }
    return try window.readName()
  }

  private func skipValue() throws { try window.skipValue(depthLimit: FleeceLimits.depth - 1) }

  private mutating func expect(
    _ bracket: Unicode.Scalar, _ path: [[UInt8]], is what: String
  ) throws {
    let byte = try window.skipSpace()
    line = window.line
    guard byte == UInt8(ascii: bracket) else {
      throw failure(
        "\(Self.shown(path)) is not \(what)",
        advice: "--at a.b names an array that is the member b of the member a of one object.")
    }
    window.advance()
  }

  private func missing(_ name: [UInt8], in path: [[UInt8]], _ others: [[UInt8]], of count: Int) -> Failure {
    let names = others.map { Arguments.quoted($0) }.joined(separator: ", ")
    let more = count > others.count ? " and \(count - others.count) more" : ""
    return failure(
      "\(Self.shown(path)) has no member \(Arguments.quoted(name))",
      advice: others.isEmpty ? "It has no members." : "It has \(names)\(more).")
  }

  private static func shown(_ path: [[UInt8]]) -> String {
    path.isEmpty ? "the text" : Arguments.quoted(Array(path.joined(separator: ".".utf8)))
  }
}
