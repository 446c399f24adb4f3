import LatewoodSimulation

/// A component that accepts arbitrary bytes, and must neither trap nor take much time or memory.
///
/// `run` examines the bytes in every known way. A thrown error is correct; two answers that
/// contradict each other are a find.
protocol FuzzTarget: AnyObject {
  init()
  func run(_ input: UnsafeRawBufferPointer)
  /// Repairs the parts, such as checksums, that would prevent a mutation from being examined.
  func repair(_ bytes: inout [UInt8])
  /// Returns the range in which mutations are most effective; nil for the whole input, whose length
  /// may then change.
  func window(_ bytes: [UInt8], _ random: inout SeededRandom) -> Range<Int>?
  /// Tokens of the language that the target understands.
  var words: [[UInt8]] { get }
  /// The greatest length of an input.
  var longest: Int { get }
}

extension FuzzTarget {
  func repair(_ bytes: inout [UInt8]) {}
  func window(_ bytes: [UInt8], _ random: inout SeededRandom) -> Range<Int>? { nil }
  var words: [[UInt8]] { [] }
  var longest: Int { 4096 }
}

/// All targets, by the names that the command line and the folders of the corpus use.
enum FuzzTargets {
  static var all: [(name: String, type: any FuzzTarget.Type)] {
    [
      ("canary", CanaryTarget.self), ("open", OpenTarget.self), ("recovery", RecoveryTarget.self),
      ("node", NodeTarget.self), ("fleece", FleeceTarget.self), ("json", JSONTarget.self),
      ("roundtrip", RoundTripTarget.self), ("record", RecordTarget.self),
      ("operations", OperationsTarget.self), ("documents", DocumentsTarget.self),
      ("arguments", ArgumentsTarget.self), ("selector", SelectorTarget.self), ("sql", SQLTarget.self),
      ("http", HTTPMessageTarget.self), ("multipart", MultipartTarget.self),
      ("couchdb", CouchDBTarget.self), ("words", WordsTarget.self),
      ("texts", TextsTarget.self),
    ]
  }

  static func make(_ name: String) -> (any FuzzTarget)? { all.first { $0.name == name }?.type.init() }
}

/// Ends the process as a find: an answer was wrong, although the code did not trap by itself.
func find(_ message: String) -> Never { fatalError("FIND: \(message)") }

/// Runs code that may throw any typed error.
func tolerate(_ body: () throws -> Void) {
  do { try body() } catch {
    // Refusing bad bytes is correct.
  }
}
