/// One state of an engine that can be read: its newest commit, or a snapshot.
protocol BenchmarkReads {
  /// Adds the value of a key to the checksum. Returns whether it was there.
  func get(_ key: UnsafeRawBufferPointer, into checksum: inout Checksum) throws -> Bool
  /// Adds up to `limit` entries, from `start` on in ascending order. Returns how many there were.
  func scan(from start: UnsafeRawBufferPointer, limit: Int, into checksum: inout Checksum) throws -> Int
}

/// The changes of one transaction.
protocol BenchmarkWriter {
  mutating func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws
  mutating func delete(_ key: UnsafeRawBufferPointer) throws
}

/// What the workloads need of an engine. The workloads are generic over it and are specialised for
/// each engine, so that no operation goes through an existential.
///
/// All of it may be called from any thread where `isThreadSafe`; transactions then queue up in the
/// engine.
protocol BenchmarkEngine: BenchmarkReads, Sendable {
  associatedtype Writer: BenchmarkWriter
  associatedtype State: BenchmarkReads, Sendable

  /// As it is called in the results.
  static var name: String { get }
  /// Whether what was written is there after closing and opening again. Workloads about files are
  /// left out if not.
  static var isPersistent: Bool { get }
  /// Whether the answers are those of a store. Checksums are not compared if not.
  static var answers: Bool { get }

  /// - Parameter isDurable: whether a transaction is on the disk when `write` returns.
  static func open(in directory: Directory, isDurable: Bool) throws -> Self

  /// One transaction.
  func write(_ body: (inout Writer) throws -> Void) throws
  /// One transaction of one put.
  func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws
  /// Runs `body` on a state that is held all along.
  func withSnapshot<R>(_ body: (State) throws -> R) throws -> R
  /// On return everything committed so far is on the disk.
  func flush() throws
  func close() throws
}

/// Something went wrong that is not the engine's error.
struct BenchmarkFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
