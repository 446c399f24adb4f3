import LatewoodBytes
import LatewoodDevice
import LatewoodFleece

/// The part of a text that is in memory, with the current position. The text is read in pieces, and
/// the memory grows if a value does not fit.
///
/// ```
/// memory   |     kept value |     | unread             | room     |
///                keptStart        position             count      capacity
/// ```
///
/// Invariants:
/// 1. `0 <= keptStart`, `keptStart + keptLength <= position <= count <= capacity`.
/// 2. The memory before `count` holds bytes of the text, except that a kept value is compact: it
///    lacks the white space between its tokens.
final class TextWindow {
  /// Fills the buffer with the next bytes and returns their number; 0 at the end.
  typealias Refill = (UnsafeMutableRawBufferPointer) throws -> Int

  /// The least length of the memory.
  private static let leastLength: UInt64 = 64 << 10
  /// The greatest length of a value in bytes, which is that of the store.
  static let valueLimit = 1 << 31

  private var memory: MemoryRange
  private var keptStart = 0
  private var keptLength = 0
  private var position = 0
  private var count = 0
  private var hasEnded = false
  /// The offset of the first byte of the memory in the text.
  private var offsetOfMemory = 0
  private var place = TextPosition()
  private var check = JSONCheck()
  private let refill: Refill

  init(_ refill: @escaping Refill) throws {
    memory = try MemoryRange(capacities: [Self.leastLength])
    self.refill = refill
  }

  /// Creates a window on a text in memory, which arrives in pieces.
  convenience init(_ text: [UInt8], pieceLength: Int = 65536) throws {
    var rest = text[...]
    try self.init { target in
      let piece = rest.prefix(min(target.count, pieceLength))
      target.copyBytes(from: piece)
      rest = rest.dropFirst(piece.count)
      return piece.count
    }
  }

  /// The offset of the next byte from the start of the text.
  var offset: Int { offsetOfMemory + position }
  var line: Int { place.line }

  /// The value that `readValue` has read, in compact form. Valid until the next one is read.
  var value: JSONSlice {
    JSONSlice(UnsafeRawBufferPointer(start: memory.base + keptStart, count: keptLength))
  }

  /// Gives up the value and its memory.
  func forgetValue() {
    keptLength = 0
    if memory.capacity > Self.leastLength, UInt64(count - position) <= Self.leastLength / 2 { move() }
  }

  private var unread: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: memory.base + position, count: count - position)
  }

  /// Returns the next byte without consuming it; nil at the end.
  func peek() throws -> UInt8? {
    if position == count, try !readMore() { return nil }
    // SAFETY: `position` is less than `count`, and invariant 1.
    return UnsafeRawPointer(memory.base).u8(position)
  }

  /// Skips a byte, which `peek` has returned.
  func advance() {
    place.pass(UnsafeRawPointer(memory.base).u8(position))
    position += 1
  }

  /// Skips white space, and returns the byte after it; nil at the end.
  @discardableResult func skipSpace() throws -> UInt8? {
    while let byte = try peek() {
      switch byte {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): advance()
      default: return byte
      }
    }
    return nil
  }

  /// Skips a byte order mark, which RFC 8259 lets a reader ignore. Returns whether there was one.
  @discardableResult func skipByteOrderMark() throws -> Bool {
    guard offset == 0, try peek() == 0xEF else { return false }
    while count < 3, try readMore() {}
    guard unread.starts(with: [0xEF, 0xBB, 0xBF]) else { return false }
    position += 3
    return true
  }

  /// Reads a value, which is then `value`, with the white space before it.
  func readValue(depthLimit: Int) throws {
    forgetValue()
    let (start, extent) = try found { (text, check, isComplete) throws(FleeceError) in
      try check.value(of: text, isComplete: isComplete, depthLimit: depthLimit)
    }
    keptStart = start
    keptLength = extent.end
    if extent.hasSpace {
      // SAFETY: invariant 1, and the value has been checked.
      keptLength = JSON.compact(
        checked: UnsafeMutableRawBufferPointer(start: memory.base + start, count: extent.end))
    }
  }

  /// Checks and skips a value, with the white space before it.
  func skipValue(depthLimit: Int) throws {
    _ = try found { (text, check, isComplete) throws(FleeceError) in
      try check.value(of: text, isComplete: isComplete, depthLimit: depthLimit)
    }
  }

  /// Reads the name of a member and the colon after it. Returns the name; it is empty if it is not
  /// Unicode.
  func readName() throws -> [UInt8] {
    let (start, extent) = try found { (text, check, isComplete) throws(FleeceError) in
      try check.name(of: text, isComplete: isComplete)
    }
    let text = UnsafeRawBufferPointer(start: memory.base + start, count: extent.end)
    let length = text.lastIndex(of: UInt8(ascii: "\"")).map { $0 + 1 } ?? 0
    return JSONSlice(UnsafeRawBufferPointer(rebasing: text.prefix(length))).string() ?? []
  }

  /// Reads as much of the text as a search needs, and skips the found value. Returns its offset in
  /// memory.
  private func found(
    _ find: (UnsafeRawBufferPointer, inout JSONCheck, _ isComplete: Bool) throws(FleeceError)
      -> JSONCheck.Extent?
  ) throws -> (start: Int, JSONCheck.Extent) {
    try skipSpace()
    while true {
      let extent: JSONCheck.Extent?
      do throws(FleeceError) { extent = try find(unread, &check, hasEnded) } catch {
        var place = place
        place.pass(UnsafeRawBufferPointer(rebasing: unread.prefix(error.offset ?? 0)))
        throw failure(error.reason, at: place)
      }
      if let extent {
        place.pass(UnsafeRawBufferPointer(rebasing: unread[..<extent.end]))
        defer { position += extent.end }
        return (position, extent)
      }
      // Doubling keeps the work of searching again linear.
      let wanted = 2 * unread.count
      while unread.count < wanted, try readMore() {}
    }
  }

  /// Passes the rest of the line, without its line break, to a closure, and skips the line if the
  /// closure returns true. Returns false if the closure does, or if the end of the line is not in
  /// memory.
  func takeLine(_ body: (UnsafeRawBufferPointer) throws -> Bool) throws -> Bool {
    // SAFETY: invariant 1.
    let end = UnsafeRawPointer(memory.base).firstOffset(of: UInt8(ascii: "\n"), from: position, before: count)
    guard end < count,
      try body(UnsafeRawBufferPointer(start: memory.base + position, count: end - position))
    else { return false }
    position = end
    return true
  }

  /// Returns a failure at the next byte.
  func failure(_ reason: String) -> Failure { failure(reason, at: place) }

  private func failure(_ reason: String, at place: TextPosition) -> Failure {
    var failure = Failure(
      .badInput, code: "invalidJSON", reason, advice: "Correct the text there and run it again.")
    failure.line = place.line
    failure.column = place.column
    return failure
  }
}

/// Memory.
extension TextWindow {
  /// Reads more of the text. Returns false at its end.
  private func readMore() throws -> Bool {
    guard !hasEnded else { return false }
    if count == Int(memory.capacity) || keptLength == 0 && position == count { try makeRoom() }
    let room = UnsafeMutableRawBufferPointer(start: memory.base + count, count: Int(memory.capacity) - count)
    // SAFETY: the refill writes within the buffer, and only during the call.
    let read = try refill(room)
    count += min(read, room.count)
    hasEnded = read == 0
    return !hasEnded
  }

  /// Makes room for more of the text.
  private func makeRoom() throws {
    let used = UInt64(keptLength + count - position)
    if used > memory.capacity / 2 { move(to: try larger()) } else { move() }
  }

  /// Moves the kept value and the unread bytes to the start of the same memory or, if they are
  /// short, of memory of the least length.
  private func move() {
    var target = memory
    if memory.capacity > Self.leastLength, UInt64(keptLength + count - position) <= Self.leastLength / 2 {
      do throws(StorageError) { target = try MemoryRange(capacities: [Self.leastLength]) } catch {}
    }
    move(to: target)
  }

  /// - Parameter target: has room for the kept value and the unread bytes.
  private func move(to target: MemoryRange) {
    let unread = count - position
    // SAFETY: invariant 1. In the same memory both move towards its start, the kept value first.
    target.base.copyMemory(from: memory.base + keptStart, byteCount: keptLength)
    (target.base + keptLength).copyMemory(from: memory.base + position, byteCount: unread)
    memory = target
    offsetOfMemory += position - keptLength
    keptStart = 0
    position = keptLength
    count = keptLength + unread
  }

  private func larger() throws -> MemoryRange {
    guard memory.capacity < 2 * UInt64(Self.valueLimit) else {
      var failure = Failure(
        .badInput, code: "valueTooLarge",
        "a value is longer than \(Quantity.bytes(UInt64(Self.valueLimit)))",
        advice: "Split it: that is the limit on one value.")
      failure.line = line
      throw failure
    }
    let quarter = memory.capacity / 4 / Self.leastLength * Self.leastLength
    do throws(StorageError) {
      return try MemoryRange(
        capacities: [2 * memory.capacity, memory.capacity + max(quarter, Self.leastLength)])
    } catch {
      throw Self.tooLarge(keptLength + count - position, needing: 2 * Int(memory.capacity), line: line)
    }
  }

  /// Returns a failure about a value that needs more memory than the process gets.
  static func tooLarge(_ length: Int, needing needed: Int, line: Int) -> Failure {
    var failure = Failure(
      .badInput, code: "valueTooLarge",
      "a value of at least \(Quantity.bytes(UInt64(length))) needs \(Quantity.bytes(UInt64(needed))) of "
        + "memory, more than the process gets",
      advice: "Raise the limit of the process, or split the value. The limit on one value is "
        + "\(Quantity.bytes(UInt64(valueLimit))).")
    failure.line = line
    return failure
  }
}
