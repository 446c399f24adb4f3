import LatewoodBytes
import LatewoodQuery
import LatewoodStore

/// An entry of an index. Its key is the collation key of the document's values, then the document's
/// id; its value is a varint: the length of the collation key times 2, plus 1 if the collation key
/// was cut.
struct IndexEntry: Equatable, SortedEntry {
  /// The key, then the id.
  private let bytes: [UInt8]
  private let keyCount: Int
  let isCut: Bool

  var key: ArraySlice<UInt8> { bytes[..<keyCount] }
  var id: String { String(decoding: bytes[keyCount...], as: UTF8.self) }
  var byteCount: Int { MemoryLayout<IndexEntry>.stride + bytes.count + 32 }

  static func key(_ key: IndexKey, _ id: some ByteSource) -> [UInt8] {
    id.withBytes { id in
      var bytes: [UInt8] = []
      bytes.reserveCapacity(key.bytes.count + id.count)
      bytes.append(contentsOf: key.bytes)
      bytes.append(bytes: id)
      return bytes
    }
  }

  static func value(_ key: IndexKey) -> [UInt8] {
    Value(key.bytes.count, isCut: key.isCut).withBytes { Array($0) }
  }

  /// The value of an entry, encoded without an allocation.
  struct Value: ByteSource {
    private var word: UInt64 = 0
    private let count: Int

    /// - Parameter keyCount: the length of the key, at most `IndexKey.lengthLimit`.
    init(_ keyCount: Int, isCut: Bool) {
      let number = UInt64(keyCount) << 1 | (isCut ? 1 : 0)
      // SAFETY: a number of up to 56 bits takes no more than the 8 bytes of the word.
      count = withUnsafeMutableBytes(of: &word) { bytes in
        bytes.baseAddress.map { Varint.write(number, to: $0) } ?? 0
      }
    }

    func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
      try withUnsafeBytes(of: word) { (bytes) throws(E) in
        try body(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
      }
    }
  }

  init(key: RawSpan, value: RawSpan) throws(DatabaseError) {
    self = try key.reading { (key) throws(DatabaseError) in
      try value.reading { (value) throws(DatabaseError) in IndexEntry(try StoredEntry(key: key, value: value))
      }
    }
  }

  init(_ entry: StoredEntry) {
    bytes = Array(entry.bytes)
    keyCount = entry.key.count
    isCut = entry.isCut
  }

  /// Calls `body` with the entry in place.
  func withStored<R>(_ body: (StoredEntry) throws -> R) rethrows -> R {
    try bytes.withUnsafeBytes { try body(StoredEntry($0, keyCount: keyCount, isCut: isCut)) }
  }

  /// Orders entries by id.
  static func precedes(_ left: IndexEntry, _ right: IndexEntry) -> Bool {
    left.bytes[left.keyCount...].lexicographicallyPrecedes(right.bytes[right.keyCount...])
  }
}

/// An entry of an index in place. It is valid only during the call that provided it.
///
/// SAFETY: the initializer checks the lengths against the bytes, and the caller keeps the bytes
/// alive until that call returns.
struct StoredEntry {
  /// The key, then the id.
  let bytes: UnsafeRawBufferPointer
  private let keyCount: Int
  let isCut: Bool

  /// Creates an empty entry.
  init() { self.init(UnsafeRawBufferPointer(start: nil, count: 0), keyCount: 0, isCut: false) }

  fileprivate init(_ bytes: UnsafeRawBufferPointer, keyCount: Int, isCut: Bool) {
    (self.bytes, self.keyCount, self.isCut) = (bytes, keyCount, isCut)
  }

  @inline(__always) fileprivate init(
    key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer
  ) throws(DatabaseError) {
    let number: UInt64
    if value.count == 1, value[0] < 0x80 {
      number = UInt64(value[0])
    } else {
      number = try StoredEntry.number(value)
    }
    guard number >> 1 < key.count else {
      throw DatabaseError(.corruptData, "an entry of an index has no document id")
    }
    self.init(key, keyCount: Int(number >> 1), isCut: number & 1 != 0)
  }

  @inline(__always) init(_ entry: EntryBytes) throws(DatabaseError) {
    try self.init(key: entry.key, value: entry.value)
  }

  /// Returns the first value of an entry if it is a whole number that `CollationReader.wholeNumber`
  /// can read; nil otherwise, and if the key is cut or the value is longer than a byte.
  @inline(__always) static func wholeNumber(in entry: EntryBytes, descending: Bool) -> Int? {
    guard entry.value.count == 1, let key = entry.key.baseAddress, let value = entry.value.baseAddress else {
      return nil
    }
    let number = value.u8(0)
    let keyCount = Int(number &>> 1)
    // Bit 7 marks a longer varint, bit 0 a cut key.
    guard number & 0x81 == 0, keyCount >= CollationReader.numberLength, keyCount < entry.key.count else {
      return nil
    }
    // SAFETY: the key has at least this length.
    return CollationReader.wholeNumber(at: key, descending: descending)
  }

  /// Calls `body` with the entry of a key and a value in the store.
  @inline(__always) static func reading<R>(
    _ key: RawSpan, _ value: RawSpan, _ body: (StoredEntry) throws -> R
  ) throws -> R {
    try key.withUnsafeBytes { key in
      try value.withUnsafeBytes { value in try body(try StoredEntry(key: key, value: value)) }
    }
  }

  private static func number(_ value: UnsafeRawBufferPointer) throws(DatabaseError) -> UInt64 {
    guard var source = UntrustedBytes(value, what: "an entry of an index") else {
      throw DatabaseError(.corruptData, "an entry of an index is empty")
    }
    let number = try source.varint()
    guard source.isAtEnd else { throw source.damaged("it is too long") }
    return number
  }

  var key: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[..<keyCount]) }
  var idBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[keyCount...]) }
  var id: String { String(decoding: idBytes, as: UTF8.self) }
}

/// Adjacent entries with the same key, which must be put in order.
///
/// Most keys have a single entry, which is copied into memory that the next one reuses.
struct EntryRun {
  /// The first entry, followed by remains of earlier ones.
  private var bytes: [UInt8] = []
  private var count = 0
  private var keyCount = 0
  private(set) var isCut = false
  /// The entries after the first.
  private var others: [IndexEntry] = []

  var isEmpty: Bool { count == 0 }
  /// Whether there is only one entry.
  var isSingle: Bool { others.isEmpty }

  /// Returns whether an entry has the key of the run.
  func hasKey(of entry: StoredEntry) -> Bool {
    let key = entry.key
    guard keyCount == key.count else { return false }
    return bytes.withUnsafeBytes { own in
      guard let left = own.baseAddress, let right = key.baseAddress else { return true }
      // SAFETY: both keys have this length.
      return KeyOrder.isEqual(left, right, keyCount)
    }
  }

  mutating func append(_ entry: StoredEntry) {
    guard isEmpty else {
      others.append(IndexEntry(entry))
      return
    }
    count = entry.bytes.count
    if bytes.count < count {
      bytes.removeAll(keepingCapacity: true)
      bytes.append(bytes: entry.bytes)
    } else {
      bytes.withUnsafeMutableBytes { $0.copyMemory(from: entry.bytes) }
    }
    (keyCount, isCut) = (entry.key.count, entry.isCut)
  }

  mutating func removeAll() {
    count = 0
    if !others.isEmpty { others.removeAll(keepingCapacity: true) }
  }

  /// Calls `body` with the sorted entries until it returns false, and returns false in that case.
  ///
  /// - Parameter sort: sorts the entries; called if there are several.
  func forEach(
    sortedBy sort: (inout [IndexEntry]) throws -> Void, _ body: (StoredEntry) throws -> Bool
  ) throws -> Bool {
    if others.isEmpty { return try withFirst(body) }
    var entries = [withFirst { IndexEntry($0) }] + others
    try sort(&entries)
    for entry in entries where try !entry.withStored(body) { return false }
    return true
  }

  /// Calls `body` with the first entry.
  func withFirst<R>(_ body: (StoredEntry) throws -> R) rethrows -> R {
    try bytes.withUnsafeBytes { bytes in
      try body(
        StoredEntry(UnsafeRawBufferPointer(rebasing: bytes[..<count]), keyCount: keyCount, isCut: isCut))
    }
  }
}
