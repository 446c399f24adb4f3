import LatewoodSimulation

/// Something that takes any bytes whatever, and must neither trap nor take long nor take much
/// memory.
///
/// `run` looks at the bytes in every way it knows. An error that is thrown is right; an answer that
/// contradicts another one is a find.
protocol FuzzTarget: AnyObject {
  init()
  func run(_ input: UnsafeRawBufferPointer)
  /// Makes right what would keep a mutation from being looked at, such as checksums.
  func repair(_ bytes: inout [UInt8])
  /// Where mutations tell most; nil for everywhere, and then the length may change.
  func window(_ bytes: [UInt8], _ random: inout SeededRandom) -> Range<Int>?
  /// Pieces of the language that the target speaks.
  var words: [[UInt8]] { get }
  /// No input is made longer than that.
  var longest: Int { get }
}

extension FuzzTarget {
  func repair(_ bytes: inout [UInt8]) {}
  func window(_ bytes: [UInt8], _ random: inout SeededRandom) -> Range<Int>? { nil }
  var words: [[UInt8]] { [] }
  var longest: Int { 4096 }
}

/// All of them, by the names that the command line and the folders of the corpus use.
enum FuzzTargets {
  static var all: [(name: String, type: any FuzzTarget.Type)] {
    [
      ("canary", CanaryTarget.self), ("open", OpenTarget.self), ("recovery", RecoveryTarget.self),
      ("node", NodeTarget.self), ("fleece", FleeceTarget.self), ("json", JSONTarget.self),
      ("roundtrip", RoundTripTarget.self), ("record", RecordTarget.self),
      ("operations", OperationsTarget.self), ("documents", DocumentsTarget.self),
      ("arguments", ArgumentsTarget.self), ("selector", SelectorTarget.self),
    ]
  }

  static func make(_ name: String) -> (any FuzzTarget)? { all.first { $0.name == name }?.type.init() }
}

/// Ends the process as a find: an answer was wrong, although nothing trapped by itself.
func find(_ message: String) -> Never { fatalError("FIND: \(message)") }

/// Does what may throw any typed error.
func tolerate(_ body: () throws -> Void) {
  do { try body() } catch {
    // Bad bytes are to be refused.
  }
}
