import LatewoodFleece

/// The part of a deterministic automaton that fits into a small table: what follows each state for
/// each class of ASCII characters.
///
/// ```
///             a    b    others   end of text
/// state 0     1    0    0        none            (for the expression "ab")
/// state 1     1    2    0        none
/// state 2     match ...
/// ```
///
/// It is built once and never changes, so threads share it without a lock. Where it ends, and for
/// other characters than ASCII, `PatternSteps` takes over.
struct PatternTable {
  /// A set of instructions to continue at, and what precedes them in the text.
  struct State: Hashable {
    /// In ascending order.
    let places: [Int32]
    let before: PatternContext
  }

  /// Entries that are not the number of a state.
  enum Entry {
    static let match: Int16 = -1
    /// Nothing that follows can match.
    static let none: Int16 = -2
    /// The table ends here.
    static let unknown: Int16 = -3
  }

  /// The maximum number of steps for building a table, so that a query of few documents pays
  /// little.
  private static let stepLimit = 20_000
  private static let setLimit = 64

  private(set) var states: [State] = []
  private var numbers: [State: Int] = [:]
  private(set) var entries: [Int16] = []
  /// The class of each ASCII character.
  let classes: [UInt8]
  /// The number of entries for a state: those of the classes, of the end, and of a line feed that
  /// ends the text.
  let width: Int

  var end: Int { width - 2 }
  var lastNewline: Int { width - 1 }

  private let entryLimit: Int

  init(_ program: PatternProgram, entryLimit: Int = 4096) {
    self.entryLimit = entryLimit
    let (classes, samples) = PatternTable.classes(of: program)
    self.classes = classes
    width = samples.count + 2
    states = [State(places: [], before: .start)]
    numbers[states[0]] = 0
    guard program.sets.count <= PatternTable.setLimit else {
      entries = Array(repeating: Entry.unknown, count: width)
      return
    }
    var steps = 0
    do {
      try fill(program, samples, &steps)
    } catch {
      // Too many steps: the rest is unknown.
    }
    let missing = states.count * width - entries.count
    if missing > 0 { entries += Array(repeating: Entry.unknown, count: missing) }
  }

  /// Returns the number of a state; nil if the table does not have it.
  func number(of places: [Int32], after before: PatternContext) -> Int? {
    numbers[State(places: places.sorted(), before: before)]
  }

  private mutating func fill(
    _ program: PatternProgram, _ samples: [Unicode.Scalar], _ steps: inout Int
  ) throws(FleeceError) {
    var walk = PatternSteps(program) { _ in }
    var reached: [Int32] = []
    var next = 0
    while next < states.count, (next + 1) * width <= entryLimit {
      let state = states[next]
      var row: [Int16] = []
      for sample in samples.map({ PatternNext.scalar($0) }) + [.end, .lastNewline("\n")] {
        if steps > PatternTable.stepLimit { return }
        let before = walk.count
        let isMatch = try walk.take(sample, at: state.places, after: state.before, into: &reached)
        steps += walk.count > before ? walk.count - before : walk.count
        row.append(isMatch ? Entry.match : entry(for: reached, after: sample, program))
      }
      entries += row
      next += 1
    }
  }

  private mutating func entry(
    for reached: [Int32], after next: PatternNext, _ program: PatternProgram
  ) -> Int16 {
    guard let scalar = next.scalar, !reached.isEmpty || !program.isAnchored else { return Entry.none }
    let state = State(places: reached.sorted(), before: PatternContext(after: scalar, in: program))
    if let number = numbers[state] { return Int16(number) }
    guard states.count * width < entryLimit else { return Entry.unknown }
    numbers[state] = states.count
    states.append(state)
    return Int16(states.count - 1)
  }

  /// Returns the class of each ASCII character, and one character of each class. The characters of
  /// a class are in the same sets.
  private static func classes(
    of program: PatternProgram
  ) -> (classes: [UInt8], samples: [Unicode.Scalar]) {
    guard program.sets.count <= setLimit else { return (Array(repeating: 0, count: 128), ["a"]) }
    struct Kind: Hashable {
      var sets: UInt64 = 0
      var context: PatternContext
      var isNewline: Bool
    }
    var numbers: [Kind: UInt8] = [:]
    var samples: [Unicode.Scalar] = []
    var classes: [UInt8] = []
    for value in UInt8(0)..<128 {
      let scalar = Unicode.Scalar(value)
      var kind = Kind(context: PatternContext(after: scalar, in: program), isNewline: false)
      kind.isNewline = program.usesLastLineEnd && ScalarProperty.isNewline(scalar)
      for (index, set) in program.sets.enumerated() where set.contains(scalar) {
        kind.sets |= 1 << UInt64(index)
      }
      if let known = numbers[kind] {
        classes.append(known)
      } else {
        numbers[kind] = UInt8(samples.count)
        classes.append(UInt8(samples.count))
        samples.append(scalar)
      }
    }
    return (classes, samples)
  }
}
