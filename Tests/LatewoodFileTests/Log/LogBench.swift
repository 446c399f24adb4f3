import LatewoodBytes
import LatewoodConcurrency
import Testing

@testable import LatewoodFile

/// The state of a test database of strings: the puts of all committed transactions, applied in
/// order.
struct ReplayedState: Equatable {
  var entries: [String: [UInt8]] = [:]
  var transactions: [UInt64] = []
  var report = LogRecoveryReport()

  static func == (left: ReplayedState, right: ReplayedState) -> Bool { left.entries == right.entries }

  mutating func apply(_ transaction: UInt64, _ record: LogRecord) {
    if transactions.last != transaction { transactions.append(transaction) }
    let key = String(
      decoding: UnsafeRawBufferPointer(start: record.key + 4, count: record.keyCount - 4), as: UTF8.self)
    if record.code == OperationCode.delete {
      entries[key] = nil
    } else {
      entries[key] = Array(UnsafeRawBufferPointer(start: record.value, count: record.valueCount))
    }
  }
}

/// A database file on a volume that can fail, with shortcuts for tests.
struct LogBench {
  let volume = InjectingVolume()
  let path = "test.latewood"
  let environment = Environment(now: { 1_000_000 }, random: { 0x1234_5678_9ABC_DEF0 })

  init() throws {
    try DatabaseFile.create(on: volume, path: path, environment: environment)
  }

  /// Opens and recovers; the file is closed by the caller.
  func open(readOnly: Bool = false) throws -> (log: DatabaseFile, state: ReplayedState) {
    let log = try DatabaseFile.open(on: volume, path: path, readOnly: readOnly, environment: environment)
    var state = ReplayedState()
    do {
      state.report = try log.recover { (transaction, _, record) throws(StorageError) in
        state.apply(transaction, record)
      }
    } catch {
      log.close()
      throw error
    }
    return (log, state)
  }

  /// The state that a writer finds. The file is not changed.
  func read() throws -> ReplayedState {
    let (log, state) = try open()
    log.close()
    return state
  }

  func size() throws -> UInt64 {
    let device = try volume.memory.open(path, .readOnly)
    defer { device.close() }
    return try device.size()
  }

  func bytes() throws -> [UInt8] {
    let device = try volume.memory.open(path, .readOnly)
    defer { device.close() }
    var bytes = [UInt8](repeating: 0, count: Int(try device.size()))
    _ = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
    return bytes
  }

  /// Overwrites a part of the file.
  func patch(_ bytes: [UInt8], at offset: Int) throws {
    let device = try volume.memory.open(path, .readWrite)
    defer { device.close() }
    try bytes.withUnsafeBytes { try device.write($0, at: UInt64(offset)) }
  }

  func flip(byte: Int, bit: Int) throws {
    try patch([try bytes()[byte] ^ (1 << UInt8(bit))], at: byte)
  }

  /// Replaces the whole file.
  func install(_ bytes: [UInt8]) throws {
    try volume.memory.remove(path)
    let device = try volume.memory.open(path, .createExclusive(permissions: 0o600))
    defer { device.close() }
    try bytes.withUnsafeBytes { try device.write($0, at: 0) }
  }
}

extension DatabaseFile {
  @discardableResult
  func put(_ key: String, _ value: [UInt8], asExtent: Bool = false) throws(StorageError) -> UInt64 {
    var key = key
    return try key.withUTF8Bytes { (bytes) throws(StorageError) in
      try value.withBytes { (value) throws(StorageError) in
        try writer.put(LogKey(1, bytes), value, asExtent: asExtent)
      }
    }
  }

  @discardableResult
  func commit(_ pairs: [(String, [UInt8])], durable: Bool = true) throws -> CommitPosition {
    _ = try writer.beginTransaction()
    for (key, value) in pairs { try put(key, value) }
    let position = try writer.commitTransaction()
    try flush(through: position, durable: durable)
    return position
  }

  /// Writes a checkpoint frame that claims an empty tree, and the slot.
  @discardableResult
  func emptyCheckpoint(replay: ReplayPosition? = nil) throws -> AppendedCheckpoint {
    let record = CheckpointRecord(
      root: nil, replay: replay ?? writer.replayPosition, transaction: 0, time: 7, previousCheckpoint: 0)
    let checkpoint = try writer.appendCheckpoint(record)
    try flush(through: checkpoint.position, durable: false)
    try writeSlot(naming: checkpoint)
    return checkpoint
  }
}

extension String {
  mutating func withUTF8Bytes<R>(_ body: (UnsafeRawBufferPointer) throws(StorageError) -> R)
    throws(StorageError) -> R
  {
    try Array(utf8).withBytes(body)
  }
}

extension Array where Element == UInt8 {
  func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws(StorageError) -> R) throws(StorageError) -> R {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: self)
    return try body(UnsafeRawBufferPointer(copy))
  }
}

/// Returns the kind of the fault that `body` throws; nil if it throws none.
func faultKind(_ body: () throws -> Void) -> StorageError.Kind? {
  do {
    try body()
    return nil
  } catch {
    return (error as? StorageError)?.kind
  }
}
