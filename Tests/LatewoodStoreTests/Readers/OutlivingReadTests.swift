import LatewoodDevice
import LatewoodStore
import Testing

/// Reads that continue while their store is closed and others write to the file.
@Suite struct OutlivingReadTests {
  private let directory: StoreDirectory

  init() throws { directory = try StoreDirectory() }

  /// Large enough for each entry to occupy separate blocks; most are extents.
  private static let length = 20_000
  private static let count = 60

  private func open(_ mode: Store.OpenMode = .openOrCreate) throws -> Store {
    var options = OverwrittenStore.options()
    options.nodeSize = 4096
    return try Store.open(at: directory.store, mode: mode, options: options)
  }

  private func fill(_ store: Store, _ byte: UInt8) throws {
    let space = try store.keyspace("a")
    try store.write { transaction in
      for number in 0..<Self.count {
        let length = number % 3 == 0 ? 40 : Self.length
        try transaction.put(
          OverwrittenStore.key(number), [UInt8](repeating: byte, count: length), in: space)
      }
    }
    try store.checkpoint()
  }

  /// Opens the file, overwrites everything several times, and closes it. Returns the number of
  /// bytes released.
  private func overwriteAll() throws -> UInt64 {
    let store = try open()
    for byte in 2..<6 as Range<UInt8> { try fill(store, byte) }
    let punched = try store.statistics().punchedBytes
    try store.close()
    return punched
  }

  private static func isWhole(_ value: RawSpan, _ byte: UInt8 = 1) -> Bool {
    value.withUnsafeBytes { $0.allSatisfy { $0 == byte } && ($0.count == 40 || $0.count == length) }
  }

  /// The reads of a store that may outlive it.
  enum Reading: CaseIterable { case snapshot, store, cursor, value }

  @Test(arguments: Reading.allCases, [false, true])
  func `a started read keeps its bytes, though the store is closed and the file overwritten`(
    _ reading: Reading, isReader: Bool
  ) throws {
    let first = try open()
    try fill(first, 1)
    if isReader { try first.close() }
    let store = isReader ? try open(.readOnly) : first
    let space = try store.keyspace("a")
    let snapshot = try store.snapshot()
    var isClosed = false
    var whole = 0
    func closeOnce() throws {
      if isClosed { return }
      isClosed = true
      try store.close()
      #expect(try overwriteAll() == 0)
    }
    switch reading {
    case .snapshot, .store:
      let body = { (key: RawSpan, value: RawSpan) throws -> Bool in
        try closeOnce()
        if Self.isWhole(value) { whole += 1 }
        return true
      }
      if reading == .store {
        try store.forEach(in: space, .all, body)
      } else {
        try snapshot.forEach(in: space, .all, body)
      }
    case .cursor:
      let cursor = try snapshot.cursor(in: space)
      try cursor.seek(to: OverwrittenStore.key(1))
      try cursor.withValue { value in
        try closeOnce()
        if Self.isWhole(value) { whole += 1 }
      }
      refusal(.closed) { try cursor.next() }
    case .value:
      try store.withValue(OverwrittenStore.key(1), in: space) { outer in
        try snapshot.withValue(OverwrittenStore.key(2), in: space) { inner in
          try closeOnce()
          if Self.isWhole(outer), Self.isWhole(inner) { whole += 1 }
        }
      }
    }
    #expect(whole == (reading == .cursor || reading == .value ? 1 : Self.count))
    refusal(.closed) { _ = try snapshot.get(OverwrittenStore.key(1), in: space) }
  }

  @Test func `a file is released when its last read is over`() throws {
    let store = try open()
    try fill(store, 1)
    let space = try store.keyspace("a")
    let snapshot = try store.snapshot()
    var cursor: Cursor? = try snapshot.cursor(in: space)
    try cursor?.seekFirst()
    try store.close()
    #expect(try overwriteAll() == 0)
    // The snapshot is closed with its store; the cursor, which stands on an entry, is not.
    cursor = nil
    let punched = try overwriteAll()
    guard punched > 0 else { return print("OutlivingReadTests: no holes on this file system") }
    withExtendedLifetime((store, snapshot)) {}
  }
}
