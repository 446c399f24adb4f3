import LatewoodBytes
import LatewoodInspection
import LatewoodStore

/// The new database that a salvage writes, and the sink that fills it.
///
/// The list of uncertain entries is kept in a keyspace of the new file until the end, so that
/// memory does not grow with their number.
final class SalvageTarget: SalvageSink {
  private enum Operation {
    case put([UInt8], [UInt8], Keyspace)
    case delete([UInt8], Keyspace)
    case deleteRange(KeyRange, Keyspace)
  }

  let store: Store
  private let catalog: SalvagedCatalog
  /// The keyspaces of the new file by their numbers in the damaged one.
  private(set) var keyspaces: [UInt32: Keyspace] = [:]
  /// The number of entries of keyspaces that had been dropped.
  private(set) var dropped: UInt64 = 0
  private let suspects: Keyspace
  private var hasSuspects = false
  private var pending: [Operation] = []
  private var pendingBytes = 0
  private let show: (UInt64, UInt64) throws -> Void

  static let suspectsName = ".salvage"
  private static let batchBytes = 4 << 20
  private static let batchCount = 8192

  init(
    _ store: Store, _ catalog: SalvagedCatalog, progress: @escaping (UInt64, UInt64) throws -> Void
  ) throws {
    self.store = store
    self.catalog = catalog
    show = progress
    // Empty keyspaces are also part of the database.
    for (number, name) in catalog.names.sorted(by: { $0.key < $1.key }) {
      keyspaces[number] = try store.keyspace(name)
    }
    suspects = try store.keyspace(
      catalog.names.values.contains(Self.suspectsName) ? ".salvage'" : Self.suspectsName)
  }

  // MARK: The sink

  func put(_ key: [UInt8], _ value: [UInt8], _ trust: SalvageTrust) throws(StorageError) {
    guard let keyspace = try keyspace(of: key, trust) else { return }
    try add(.put(Array(key.dropFirst(4)), value, keyspace), bytes: key.count + value.count)
    if trust != .certain {
      hasSuspects = true
      try add(.put(Self.suspect(key), Self.encode(trust), suspects), bytes: key.count)
    } else if hasSuspects {
      try add(.delete(Self.suspect(key), suspects), bytes: key.count)
    }
  }

  func delete(_ key: [UInt8]) throws(StorageError) {
    guard let keyspace = keyspaces[Self.number(key)] else { return }
    try add(.delete(Array(key.dropFirst(4)), keyspace), bytes: key.count)
    if hasSuspects { try add(.delete(Self.suspect(key), suspects), bytes: key.count) }
  }

  func delete(from low: [UInt8], to high: [UInt8]?) throws(StorageError) {
    for (keyspace, range) in parts(low, high) { try add(.deleteRange(range, keyspace), bytes: low.count) }
    guard hasSuspects else { return }
    let range = KeyRange(lower: .included(low), upper: high.map { .excluded($0) } ?? .unbounded)
    try add(.deleteRange(range, suspects), bytes: low.count)
  }

  func saved(_ key: [UInt8]) throws(StorageError) -> (value: [UInt8], trust: SalvageTrust)? {
    guard let keyspace = keyspaces[Self.number(key)] else { return nil }
    try flush()
    return try translated {
      guard let value = try store.get(Array(key.dropFirst(4)), in: keyspace) else { return nil }
      let trust = hasSuspects ? try store.get(Self.suspect(key), in: suspects) : nil
      return (value, trust.map(Self.decode) ?? .certain)
    }
  }

  func count(from low: [UInt8], to high: [UInt8]?) throws(StorageError) -> UInt64 {
    try flush()
    return try translated {
      var count = 0
      for (keyspace, range) in parts(low, high) { count += try store.count(in: keyspace, range) }
      return UInt64(count)
    }
  }

  func progress(_ done: UInt64, of total: UInt64) throws(StorageError) {
    do { try show(done, total) } catch { throw StorageError(.cancelled, Failure(error).message) }
  }

  // MARK: Suspects

  /// Calls `body` with each uncertain entry, by keyspace and key, until it returns false.
  func forEachSuspect(
    _ body: (_ keyspace: Keyspace, _ key: [UInt8], _ trust: SalvageTrust) throws -> Bool
  ) throws {
    try flush()
    let cursor = try store.cursor(in: suspects)
    var more = try cursor.seekFirst()
    while more {
      let key = try cursor.key()
      if let keyspace = keyspaces[Self.number(key)] {
        guard try body(keyspace, Array(key.dropFirst(4)), Self.decode(try cursor.value())) else { return }
      }
      more = try cursor.next()
    }
  }

  /// Writes the pending entries, and removes everything else from the file.
  func finish() throws {
    try flush()
    try store.dropKeyspace(suspects)
    try store.sync()
  }

  func flush() throws(StorageError) {
    guard !pending.isEmpty else { return }
    let operations = pending
    pending = []
    pendingBytes = 0
    do {
      try store.write(durability: .relaxed) { transaction in
        for operation in operations {
          switch operation {
          case .put(let key, let value, let keyspace): try transaction.put(key, value, in: keyspace)
          case .delete(let key, let keyspace): try transaction.delete(key, in: keyspace)
          case .deleteRange(let range, let keyspace): try transaction.deleteRange(range, in: keyspace)
          }
        }
      }
    } catch { throw Self.storageError(error) }
  }

  private func add(_ operation: Operation, bytes: Int) throws(StorageError) {
    pending.append(operation)
    pendingBytes += bytes
    if pendingBytes >= Self.batchBytes || pending.count >= Self.batchCount { try flush() }
  }

  // MARK: Keyspaces

  private func keyspace(of key: [UInt8], _ trust: SalvageTrust) throws(StorageError) -> Keyspace? {
    let number = Self.number(key)
    if let known = keyspaces[number] { return known }
    // Only an older leaf can contain entries of a keyspace that has been dropped since.
    if catalog.isWhole, trust != .certain {
      dropped += 1
      return nil
    }
    try flush()
    let made = try translated { try store.keyspace(catalog.placeholderName(of: number)) }
    keyspaces[number] = made
    return made
  }

  /// Returns the ranges of keys in each keyspace that a range of full keys covers.
  private func parts(_ low: [UInt8], _ high: [UInt8]?) -> [(Keyspace, KeyRange)] {
    keyspaces.compactMap { number, keyspace in
      let first = number.bigEndianBytes
      let next = (number + 1).bigEndianBytes
      if !low.lexicographicallyPrecedes(next) { return nil }
      if let high, !first.lexicographicallyPrecedes(high) { return nil }
      var range = KeyRange.all
      if low.starts(with: first), low.count > 4 { range.lower = .included(Array(low.dropFirst(4))) }
      if let high, high.starts(with: first) { range.upper = .excluded(Array(high.dropFirst(4))) }
      return (keyspace, range)
    }
  }

  private static func number(_ key: [UInt8]) -> UInt32 { key.prefix(4).bigEndian() }

  private static func encode(_ trust: SalvageTrust) -> [UInt8] {
    guard case .older(let transaction) = trust else { return [] }
    return transaction.bigEndianBytes
  }

  private static func decode(_ bytes: [UInt8]) -> SalvageTrust {
    bytes.isEmpty ? .unproven : .older(bytes.bigEndian())
  }

  private func translated<R>(_ body: () throws -> R) throws(StorageError) -> R {
    do { return try body() } catch { throw Self.storageError(error) }
  }

  private static func storageError(_ error: any Error) -> StorageError {
    guard let error = error as? StoreError else {
      return StorageError(.inputOutput, String(describing: error))
    }
    return StorageError(
      StorageError.Kind(rawValue: error.code.rawValue) ?? .inputOutput, error.message, offset: error.offset,
      path: error.path)
  }

  /// Returns the key under which an entry is listed as a suspect, cut to the greatest key length.
  private static func suspect(_ key: [UInt8]) -> [UInt8] { Array(key.prefix(16384)) }
}
