/// A readable state of an engine: its newest commit, or a snapshot.
protocol BenchmarkReads {
  /// Adds the value of a key to the checksum. Returns whether the key was there.
  func get(_ key: UnsafeRawBufferPointer, into checksum: inout Checksum) throws -> Bool
  /// Adds up to `limit` entries from `start` on, in ascending order. Returns their number.
  func scan(from start: UnsafeRawBufferPointer, limit: Int, into checksum: inout Checksum) throws -> Int
}

/// The changes of one transaction.
protocol BenchmarkWriter {
  mutating func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws
  mutating func delete(_ key: UnsafeRawBufferPointer) throws
}

/// The operations that the workloads need. The workloads are generic over the engine and
/// specialized for each, so that no operation goes through an existential.
///
/// All of them may be called from any thread if `isThreadSafe`; the engine then queues
/// transactions.
protocol BenchmarkEngine: BenchmarkReads, Sendable {
  associatedtype Writer: BenchmarkWriter
  associatedtype State: BenchmarkReads, Sendable

  /// The name in the results.
  static var name: String { get }
  /// Whether data survives closing and opening again. If not, workloads about files are left out.
  static var isPersistent: Bool { get }
  /// Whether the engine gives the answers of a store. If not, checksums are not compared.
  static var answers: Bool { get }

  /// - Parameter isDurable: whether a transaction is on the disk when `write` returns.
  static func open(in directory: Directory, isDurable: Bool) throws -> Self

  /// Runs one transaction.
  func write(_ body: (inout Writer) throws -> Void) throws
  /// Runs one transaction of a single put.
  func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws
  /// Runs `body` on a state that is pinned for the whole call.
  func withSnapshot<R>(_ body: (State) throws -> R) throws -> R
  /// Returns once everything committed so far is on the disk.
  func flush() throws
  func close() throws
}

/// A failure that is not an error of the engine.
struct BenchmarkFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
