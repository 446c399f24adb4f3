import LatewoodFleece

/// A regular expression as instructions of a nondeterministic automaton (Thompson, 1968).
///
/// Targets are relative to the instruction, so code can be copied. After `scalar` and `check`, the
/// next instruction follows.
enum PatternInstruction: Equatable {
  /// Takes a scalar that a set contains; the number is that of the set.
  case scalar(Int32)
  case check(PatternAssertion)
  /// Continues at both targets.
  case split(Int32, Int32)
  case jump(Int32)
  case accept
}

/// A condition on a place in the text.
enum PatternAssertion {
  case textStart, textEnd
  /// At the end of the text, or before a newline that ends it.
  case lastLineEnd
  case lineStart, lineEnd
  case wordBoundary, noWordBoundary
  /// Not before a line feed.
  case noLineFeed
}

/// The automaton of a regular expression.
struct PatternProgram {
  /// The maximum sum of the costs of instructions: an expression with counted repetitions grows
  /// much longer than its text.
  static let sizeLimit = 20_000

  let code: [PatternInstruction]
  let sets: [PatternSet]
  /// Whether a match can only begin at the start of the text.
  let isAnchored: Bool
  let usesLastLineEnd: Bool
  let usesLines: Bool
  let usesWords: Bool

  init(_ code: [PatternInstruction], _ sets: [ScalarSet]) {
    self.code = code + [.accept]
    self.sets = sets.map { PatternSet($0) }
    func uses(_ wanted: PatternAssertion...) -> Bool {
      code.contains { if case .check(let assertion) = $0 { wanted.contains(assertion) } else { false } }
    }
    usesLastLineEnd = uses(.lastLineEnd)
    usesLines = uses(.lineStart, .lineEnd)
    usesWords = uses(.wordBoundary, .noWordBoundary)
    isAnchored = PatternProgram.isAnchored(self.code)
  }

  /// The maximum number of steps for one scalar.
  var size: Int {
    code.reduce(0) { sum, next in
      if case .scalar(let number) = next { sum + 1 + sets[Int(number)].cost } else { sum + 1 }
    }
  }

  /// Returns whether each way through the code passes `textStart` before it takes a scalar.
  private static func isAnchored(_ code: [PatternInstruction]) -> Bool {
    var isSeen = [Bool](repeating: false, count: code.count)
    var open = [0]
    while let at = open.popLast() {
      if isSeen[at] { continue }
      isSeen[at] = true
      switch code[at] {
      case .check(.textStart): continue
      case .check: open.append(at + 1)
      case .jump(let target): open.append(at + Int(target))
      case .split(let first, let second): open += [at + Int(first), at + Int(second)]
      case .scalar, .accept: return false
      }
    }
    return true
  }
}

/// A set of scalars with a bitmap for those of ASCII.
struct PatternSet {
  let set: ScalarSet
  let cost: Int
  private let low: UInt64
  private let high: UInt64

  init(_ set: ScalarSet) {
    self.set = set
    cost = set.cost
    func bitmap(_ values: Range<UInt8>) -> UInt64 {
      var bits: UInt64 = 0
      for value in values where set.contains(Unicode.Scalar(value)) { bits |= 1 << UInt64(value & 63) }
      return bits
    }
    low = bitmap(0..<64)
    high = bitmap(64..<128)
  }

  func contains(_ scalar: Unicode.Scalar) -> Bool {
    let value = scalar.value
    guard value < 128 else { return set.contains(scalar) }
    return (value < 64 ? low : high) >> UInt64(value & 63) & 1 != 0
  }
}

/// What precedes a place in the text, as far as assertions need it.
enum PatternContext: Int32 {
  case start, newline, word, other

  init(after scalar: Unicode.Scalar, in program: PatternProgram) {
    if program.usesLines, ScalarProperty.isNewline(scalar) {
      self = .newline
    } else if program.usesWords, ScalarProperty.word.contains(scalar) {
      self = .word
    } else {
      self = .other
    }
  }
}

/// What follows a place in the text.
enum PatternNext: Equatable {
  case scalar(Unicode.Scalar)
  /// A newline that ends the text.
  case lastNewline(Unicode.Scalar)
  case end

  var scalar: Unicode.Scalar? {
    switch self {
    case .scalar(let scalar), .lastNewline(let scalar): scalar
    case .end: nil
    }
  }

  var isLastLineEnd: Bool {
    switch self {
    case .scalar: false
    case .lastNewline, .end: true
    }
  }
}

extension PatternAssertion {
  func holds(between before: PatternContext, and next: PatternNext) -> Bool {
    switch self {
    case .textStart: before == .start
    case .textEnd: next == .end
    case .lastLineEnd: next.isLastLineEnd
    case .lineStart: before == .start || before == .newline
    case .lineEnd: next.scalar.map(ScalarProperty.isNewline) ?? true
    case .wordBoundary: (before == .word) != isWord(next)
    case .noWordBoundary: (before == .word) == isWord(next)
    case .noLineFeed: next.scalar != "\n"
    }
  }

  private func isWord(_ next: PatternNext) -> Bool {
    next.scalar.map(ScalarProperty.word.contains) ?? false
  }
}

/// The places of an automaton that are reached by following a text, one scalar at a time.
///
/// A step visits each instruction at most once, so a text of n scalars takes at most n times as
/// many steps as the program is long.
struct PatternSteps {
  /// The number of steps after which they are reported.
  private static let reportInterval = 5000

  private let program: PatternProgram
  /// The step in which an instruction was last visited.
  private var visits: [UInt32]
  private var visit: UInt32 = 0
  private var open: [Int32] = []
  /// The steps since the last report.
  private(set) var count = 0
  private let report: (Int) throws(FleeceError) -> Void

  /// - Parameter report: called with a number of steps whenever that exceeds an interval.
  init(_ program: PatternProgram, report: @escaping (Int) throws(FleeceError) -> Void) {
    self.program = program
    self.report = report
    visits = Array(repeating: 0, count: program.code.count)
  }

  /// Takes the next scalar, or the end of the text.
  ///
  /// - Parameters:
  ///   - places: the instructions to continue at.
  ///   - reached: receives the instructions after the scalar.
  /// - Returns: whether the text matches already before that scalar.
  mutating func take(
    _ next: PatternNext, at places: [Int32], after before: PatternContext, into reached: inout [Int32]
  ) throws(FleeceError) -> Bool {
    reached.removeAll(keepingCapacity: true)
    if visit == .max {
      visit = 0
      for index in visits.indices { visits[index] = 0 }
    }
    visit += 1
    open.removeAll(keepingCapacity: true)
    open += places
    if !program.isAnchored || before == .start { open.append(0) }
    while let at = open.popLast() {
      if visits[Int(at)] == visit { continue }
      visits[Int(at)] = visit
      count += 1
      switch program.code[Int(at)] {
      case .accept: return true
      case .jump(let target): open.append(at + target)
      case .split(let first, let second):
        open.append(at + second)
        open.append(at + first)
      case .check(let assertion):
        if assertion.holds(between: before, and: next) { open.append(at + 1) }
      case .scalar(let number):
        guard let scalar = next.scalar else { continue }
        let set = program.sets[Int(number)]
        if !scalar.isASCII { count += set.cost }
        if set.contains(scalar) { reached.append(at + 1) }
      }
      if count >= PatternSteps.reportInterval { try flush() }
    }
    return false
  }

  /// Reports the steps since the last report.
  mutating func flush() throws(FleeceError) {
    let steps = count
    count = 0
    try report(steps)
  }
}
