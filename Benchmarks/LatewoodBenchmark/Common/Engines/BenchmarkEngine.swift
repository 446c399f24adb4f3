/// A readable state of an engine: its newest commit, or a snapshot.
protocol BenchmarkReads {
  /// Adds the value of a key to a checksum. Returns whether the key exists.
  func get(_ key: UnsafeRawBufferPointer, into checksum: inout some ValueSink) throws -> Bool
  /// Adds up to `limit` entries, starting at `start`, in ascending order. Returns their number.
  func scan(from start: UnsafeRawBufferPointer, limit: Int, into checksum: inout Checksum) throws -> Int
}

/// The changes of one transaction.
protocol BenchmarkWriter {
  mutating func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws
  mutating func delete(_ key: UnsafeRawBufferPointer) throws
}

/// The resources of one thread that uses an engine: a connection, prepared statements, cursors. Its
/// reads see the newest commit.
protocol BenchmarkSession: BenchmarkReads {
  associatedtype Writer: BenchmarkWriter
  associatedtype State: BenchmarkReads

  /// Runs one transaction. Transactions of several threads queue.
  func write(_ body: (inout Writer) throws -> Void) throws
  /// Runs one transaction of a single put.
  func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws
  /// Runs `body` on a state that is pinned for the whole call.
  func withSnapshot<R>(_ body: (State) throws -> R) throws -> R
}

/// The operations that the workloads need. The workloads are generic over the engine and
/// specialized for each, so that no operation goes through an existential.
protocol BenchmarkEngine: Sendable {
  /// The engine itself, if threads may share all of it.
  associatedtype Session: BenchmarkSession
  /// A snapshot that several threads may read at the same time.
  associatedtype SharedState: BenchmarkReads & Sendable = NoState

  /// The name in the results.
  static var name: String { get }
  /// Whether data survives closing and opening again. If not, workloads about files are left out.
  static var isPersistent: Bool { get }
  /// Whether the engine returns the answers of a store. If not, checksums are not compared.
  static var answers: Bool { get }

  /// - Parameter isDurable: whether a transaction is on the disk when `write` returns.
  static func open(in directory: Directory, isDurable: Bool) throws -> Self

  /// Runs `body` with a session of the calling thread, which ends with the call.
  func withSession<R>(_ body: (Session) throws -> R) throws -> R
  /// Runs `body` on a snapshot for several threads. Does nothing if the engine does not support
  /// that.
  func withSharedSnapshot(_ body: (SharedState) throws -> Void) throws
  /// Returns once everything committed so far is on the disk.
  func flush() throws
  /// Returns once no compaction runs or is due.
  func settle() throws
  /// All sessions must have ended.
  func close() throws
}

extension BenchmarkEngine {
  func settle() {}
}

extension BenchmarkEngine where SharedState == NoState {
  func withSharedSnapshot(_ body: (NoState) throws -> Void) {}
}

extension BenchmarkEngine where Session == Self {
  @inline(__always) func withSession<R>(_ body: (Self) throws -> R) rethrows -> R { try body(self) }
}

/// The shared state of engines whose snapshots belong to one thread: it has no instances.
enum NoState: BenchmarkReads, Sendable {
  func get(_ key: UnsafeRawBufferPointer, into checksum: inout some ValueSink) -> Bool { switch self {} }
  func scan(from start: UnsafeRawBufferPointer, limit: Int, into checksum: inout Checksum) -> Int {
    switch self {}
  }
}

/// A failure that is not an error of the engine.
struct BenchmarkFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
