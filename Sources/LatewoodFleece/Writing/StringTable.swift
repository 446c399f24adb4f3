import LatewoodBytes

/// The strings of one value that is being written, numbered, and each stored once.
///
/// Invariants:
/// 1. `entries[n].offset ..< + length` lies within the held text, which has the first `heldLength`
///    offsets, or within `text`, which has those after it.
/// 2. `slots` is a power of two and at most half full. A slot is the number of an entry plus one,
///    or 0.
/// 3. Two entries created by `intern` differ in their bytes, so keys are equal if and only if their
///    numbers are.
struct StringTable: ~Copyable {
  struct Entry {
    var offset: UInt32
    var length: UInt32
    /// The first eight bytes as a big-endian number, which decide the order of most strings.
    var head: UInt64
    var hash: UInt32
    /// The position of its last copy in the output plus one; 0 if it has not been written yet.
    var written: UInt32 = 0

    @inline(__always) init(_ offset: Int, _ length: Int, _ head: UInt64, _ hash: UInt32) {
      self.offset = UInt32(truncatingIfNeeded: offset)
      self.length = UInt32(truncatingIfNeeded: length)
      self.head = head
      self.hash = hash
    }
  }

  private(set) var entries = GrowingList<Entry>(capacity: ValueTape.usualCount)
  private var slots = GrowingList<UInt32>(capacity: 64)
  /// The bytes of the strings that are not in the held text.
  private var text = GrowingBytes()
  /// A text that the caller keeps in memory, so that its strings need not be copied.
  private var held: UnsafeRawPointer?
  private var heldLength = 0
  private let hash = StringHash.ofThisProcess

  init() { slots.fill(64, with: 0) }

  /// The number of bytes of all strings.
  var length: Int { heldLength + text.count }

  /// Makes a text the first bytes of the table, which must be empty. The text must stay valid until
  /// `removeAll`.
  mutating func hold(_ source: UnsafeRawPointer, _ length: Int) {
    assert(text.count == 0 && entries.isEmpty)
    held = source
    heldLength = length
  }

  /// Returns the address of the byte at an offset.
  @inline(__always) private func address(_ offset: UInt32) -> UnsafeRawPointer {
    let offset = Int(offset)
    // SAFETY: callers pass an entry's offset (invariant 1), and the held text is valid.
    if offset < heldLength, let held { return held + offset }
    return UnsafeRawPointer(text.start) + (offset &- heldLength)
  }

  /// Returns the number of a string that may be shared: equal strings have the same number.
  mutating func intern(_ source: UnsafeRawPointer, _ length: Int) -> UInt32 {
    let known = entries.count
    let number = intern(source, length, at: self.length)
    if entries.count > known { text.append(source, length) }
    return number
  }

  /// Returns the same number for a string in the text that the table holds.
  ///
  /// - Parameter offset: its offset in that text.
  mutating func intern(_ source: UnsafeRawPointer, _ length: Int, at offset: Int) -> UInt32 {
    let head = StringTable.head(source, length)
    let hash = hash(source, length, head: head)
    var slot = Int(hash) & (slots.count &- 1)
    while slots[slot] != 0 {
      let number = Int(slots[slot]) &- 1
      let entry = entries[number]
      // SAFETY: the entry's bytes lie within the text (invariant 1).
      if entry.hash == hash, Int(entry.length) == length, entry.head == head,
        length <= 8 || KeyOrder.isEqual(address(entry.offset), source, length)
      {
        return UInt32(truncatingIfNeeded: number)
      }
      slot = (slot &+ 1) & (slots.count &- 1)
    }
    let number = append(Entry(offset, length, head, hash))
    slots[slot] = number &+ 1
    if entries.count &* 2 > slots.count { rehash() }
    return number
  }

  /// Returns the number of a string that is not shared.
  mutating func add(_ source: UnsafeRawPointer, _ length: Int) -> UInt32 {
    let number = add(source, length, at: self.length)
    text.append(source, length)
    return number
  }

  /// Returns the same number for a string in the text that the table holds.
  mutating func add(_ source: UnsafeRawPointer, _ length: Int, at offset: Int) -> UInt32 {
    append(Entry(offset, length, StringTable.head(source, length), 0))
  }

  @inline(__always) private mutating func append(_ entry: Entry) -> UInt32 {
    entries.append(entry)
    return UInt32(truncatingIfNeeded: entries.count &- 1)
  }

  /// Returns the bytes of a string, which are valid until the next string is added.
  func bytes(_ number: UInt32) -> (start: UnsafeRawPointer, count: Int) {
    let entry = entries[Int(number)]
    return (address(entry.offset), Int(entry.length))
  }

  mutating func setWritten(_ number: UInt32, at position: Int) {
    entries[Int(number)].written = UInt32(truncatingIfNeeded: position &+ 1)
  }

  /// Returns whether a string sorts before another. The heads must be equal.
  func isLess(_ a: UInt32, _ b: UInt32) -> Bool {
    let (first, second) = (entries[Int(a)], entries[Int(b)])
    // SAFETY: both lie within the text (invariant 1).
    return KeyOrder.compare(
      address(first.offset), Int(first.length), address(second.offset), Int(second.length))
      < 0
  }

  mutating func removeAll() {
    // Memory for one large value is neither kept for small values that follow, nor cleared for each
    // of them.
    if slots.count > 1024, entries.count &* 8 < slots.count {
      slots = GrowingList(capacity: 1024)
      slots.fill(1024, with: 0)
    } else {
      slots.fill(slots.count, with: 0)
    }
    entries.removeAll()
    text.removeAll()
    held = nil
    heldLength = 0
  }

  private mutating func rehash() {
    var larger = GrowingList<UInt32>(capacity: slots.count * 4)
    larger.fill(slots.count * 4, with: 0)
    let mask = larger.count - 1
    for index in 0..<slots.count where slots[index] != 0 {
      let value = slots[index]
      var slot = Int(entries[Int(value) - 1].hash) & mask
      while larger[slot] != 0 { slot = (slot + 1) & mask }
      larger[slot] = value
    }
    slots = larger
  }

  @inline(__always) private static func head(_ source: UnsafeRawPointer, _ length: Int) -> UInt64 {
    if length >= 8 { return source.u64(0).byteSwapped }
    if length >= 4 {
      // The two ends, which may overlap in the middle.
      let (first, last) = (source.u32(0).byteSwapped, source.u32(length &- 4).byteSwapped)
      return UInt64(first) &<< 32 | UInt64(last) &<< UInt64(64 &- 8 &* length)
    }
    var head: UInt64 = 0
    for index in 0..<length { head |= UInt64(source.u8(index)) &<< UInt64(56 &- 8 &* index) }
    return head
  }
}

/// An unpredictable hash for short strings. With a predictable hash, texts crafted to collide could
/// slow down the table.
///
/// Multiplies 64 by 64 bits and folds the halves, like Wang Yi's wyhash. The result is never stored
/// in a file.
struct StringHash: Sendable {
  private let first: UInt64
  private let second: UInt64

  static let ofThisProcess: StringHash = {
    var generator = SystemRandomNumberGenerator()
    return StringHash(first: generator.next() | 1, second: generator.next() | 1)
  }()

  @inline(__always) private static func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.high ^ product.low
  }

  /// Returns the hash of bytes; `source` must have `length` bytes.
  ///
  /// - Parameter head: the first eight bytes as a number; missing bytes are zero.
  @inline(__always) func callAsFunction(
    _ source: UnsafeRawPointer, _ length: Int, head: UInt64
  ) -> UInt32 {
    var state = Self.fold(head ^ first, second) &+ UInt64(truncatingIfNeeded: length)
    if length > 8 {
      // The last word may overlap with the previous one.
      var at = 8
      while at &+ 8 < length {
        state = Self.fold(state ^ source.u64(at), second) &+ first
        at &+= 8
      }
      state = Self.fold(state ^ source.u64(length &- 8), second)
    }
    return UInt32(truncatingIfNeeded: Self.fold(state, first) &>> 16)
  }
}
