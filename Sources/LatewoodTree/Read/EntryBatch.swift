import LatewoodBytes
import LatewoodFile

/// A batch of entries that a scan passes on together.
///
/// The two parts of a key in a base tree are joined in memory that the next batch reuses. Other
/// keys and all values are not copied.
///
/// Lengths are read from nodes, which may have changed on the disk and been read again since their
/// verification, so they are checked before anything is copied.
struct EntryBatch: ~Copyable {
  private static let capacity = 64
  /// The capacity of the first batch, which is small so that a short scan does not read far ahead.
  private static let firstCapacity = 16

  /// The number of bytes to omit at the beginning of each key.
  private let dropped: Int
  private let entries: UnsafeMutablePointer<EntryBytes>
  private var count = 0
  private var limit = EntryBatch.firstCapacity
  private var memory: UnsafeMutableRawPointer
  private var length = 4096
  private var used = 0
  /// The sum of the touched bytes, which keeps the compiler from omitting the reads.
  private var touched: UInt8 = 0

  init(dropping dropped: Int) {
    self.dropped = dropped
    entries = .allocate(capacity: EntryBatch.capacity)
    memory = .allocate(byteCount: length, alignment: 8)
  }

  deinit {
    entries.deallocate()
    memory.deallocate()
  }

  /// Whether the entries must be passed on before more can be added.
  var isFull: Bool { count == limit }

  /// Adds entries of a leaf of the base tree until the batch or its memory is full.
  ///
  /// - Returns: the index of the first entry that was not added. If the batch was empty, at least
  ///   one is added.
  mutating func add(_ leaf: Node, _ wanted: Range<Int>, in file: FileView) throws(StorageError) -> Int {
    let cells = LeafEntries(leaf)
    let (prefix, prefixCount) = (leaf.prefix, leaf.prefixCount)
    var index = wanted.lowerBound
    let end = min(wanted.upperBound, index &+ (limit &- count))
    while index < end {
      let cell = cells[index]
      // The value is checked first: if it lies within the file, so does the key before it.
      let value = try cell.value.bytes(in: file)
      let keyCount = prefixCount &+ cell.suffixCount
      if keyCount > length &- used {
        if count > 0 { break }
        try reserve(keyCount)
      }
      guard keyCount >= dropped else { throw EntryBatch.wrongLength }
      let key = memory + used
      // SAFETY: the bytes from `used` to `length` are free, and there are enough of them.
      key.copyShort(from: prefix, count: prefixCount)
      (key + prefixCount).copyShort(from: cell.suffix, count: cell.suffixCount)
      used &+= keyCount
      append(key, keyCount, value)
      index &+= 1
    }
    return index
  }

  /// Adds the entries of a write buffer's leaf, except deletes, until the batch is full.
  ///
  /// - Returns: the index of the first entry that was not added.
  mutating func add(
    _ leaf: BufferNode, _ wanted: Range<Int>, _ records: RecordSpace, in file: FileView
  ) throws(StorageError) -> Int {
    var index = wanted.lowerBound
    let end = min(wanted.upperBound, index &+ (limit &- count))
    touched &+= records.touch(leaf, index..<min(end, index &+ BufferCursor.touchCount))
    while index < end {
      if index & (BufferCursor.touchCount &- 1) == 0 {
        // The entries after the next ones, which have already been touched.
        let next = min(end, index &+ BufferCursor.touchCount)
        touched &+= records.touch(leaf, next..<min(end, next &+ BufferCursor.touchCount))
      }
      let reference = leaf.reference(index)
      index &+= 1
      if reference.isTombstone { continue }
      let record = try records.record(reference, least: dropped)
      append(record.key, record.keyCount, try records.value(of: record, reference, in: file))
    }
    return index
  }

  /// Adds an entry of any source. The batch must be empty.
  mutating func addFirst(_ key: PrefixedKey, _ value: UnsafeRawBufferPointer) throws(StorageError) {
    guard key.count >= dropped else { throw EntryBatch.wrongLength }
    if key.count > length { try reserve(key.count) }
    key.copy(from: 0, to: memory)
    used = key.count
    append(memory, key.count, value)
  }

  @inline(__always) private mutating func append(
    _ key: UnsafeRawPointer, _ keyCount: Int, _ value: UnsafeRawBufferPointer
  ) {
    // SAFETY: `entries` has memory for `capacity` entries, and `count` is less than `limit`.
    (entries + count).initialize(
      to: EntryBytes(
        key: UnsafeRawBufferPointer(start: key + dropped, count: keyCount &- dropped), value: value))
    count &+= 1
  }

  /// Allocates larger memory for a long key. There must be no entries.
  @inline(never) private mutating func reserve(_ keyCount: Int) throws(StorageError) {
    guard keyCount <= NodeLayout.maximumKeyLength else { throw EntryBatch.wrongLength }
    memory.deallocate()
    length = keyCount * 2
    used = 0
    memory = .allocate(byteCount: length, alignment: 8)
  }

  /// Passes the entries on and empties the batch. Returns the result of `body`; true if there are
  /// no entries.
  mutating func pass(to body: (UnsafeBufferPointer<EntryBytes>) throws -> Bool) throws -> Bool {
    guard count > 0 else { return true }
    let passed = UnsafeBufferPointer(start: entries, count: count)
    (count, used, limit) = (0, 0, EntryBatch.capacity)
    return try body(passed)
  }

  @inline(never) private static var wrongLength: StorageError {
    StorageError(.damaged, "a key in memory has an impossible length: its node has changed")
  }
}
