import LatewoodBytes

/// A value inside Fleece bytes, read in place. Creating one reads two bytes; nothing is copied or
/// allocated.
///
/// The bytes are not trusted: everything is checked against their length on each access, and
/// violations of the format are thrown with their offset. Therefore `validate` is not needed before
/// reading; it only checks everything in one pass.
///
/// The value borrows the bytes: neither it nor the arrays and dictionaries created from it may be
/// used after the call that provided it. A `FleeceElement` is such a value with an owner, and may
/// be kept.
///
/// Invariants, which hold for every value that exists:
/// 1. `0 <= offset`, `offset + 2 <= limit <= length`, and `start` has `length` bytes.
/// 2. `offset` is even, and the byte there is not the first byte of a pointer.
/// 3. All bytes of the value itself lie before `limit`: the end of its item, or the start of the
///    pointer to it.
/// 4. The target of a pointer ends before the pointer. Therefore following pointers always ends.
package struct FleeceValue {
  let start: UnsafeRawPointer
  let length: Int
  let offset: Int
  let limit: Int

  package enum Kind: Sendable, Equatable {
    case null, undefined, boolean, integer, double, string, data, array, dictionary
  }

  /// A number in its stored form.
  package enum Number: Sendable, Equatable {
    case integer(Int64)
    /// An integer above `Int64.max`.
    case unsigned(UInt64)
    case double(Double)
  }

  /// Creates a value at an offset that has been checked.
  init(start: UnsafeRawPointer, length: Int, offset: Int, limit: Int) {
    self.start = start
    self.length = length
    self.offset = offset
    self.limit = limit
  }

  /// Returns the root of Fleece bytes: the value at their end, or the target of the pointer there.
  package static func root(of bytes: UnsafeRawBufferPointer) throws(FleeceError) -> FleeceValue {
    guard let start = bytes.baseAddress, bytes.count >= 2, bytes.count & 1 == 0 else {
      throw FleeceError.damaged(at: 0, "Fleece has an even number of bytes, and at least two")
    }
    return try item(start, bytes.count, at: bytes.count - 2, isWide: false)
  }

  /// Returns the value of the item at an offset, following pointers. The item must lie within the
  /// bytes.
  @inline(__always) static func item(
    _ start: UnsafeRawPointer, _ length: Int, at offset: Int, isWide: Bool
  ) throws(FleeceError) -> FleeceValue {
    // SAFETY: the caller has checked that the item lies within the bytes.
    if start.u8(offset) < FleeceFormat.pointerBit {
      return FleeceValue(start: start, length: length, offset: offset, limit: offset &+ (isWide ? 4 : 2))
    }
    let target = try FleeceValue.target(start, ofPointerAt: offset, isWide: isWide)
    if start.u8(target) < FleeceFormat.pointerBit {
      return FleeceValue(start: start, length: length, offset: target, limit: offset)
    }
    return try chain(start, length, from: offset, to: target)
  }

  /// Returns the target of the pointer at an offset, which must leave at least two bytes before the
  /// pointer.
  @inline(__always) private static func target(
    _ start: UnsafeRawPointer, ofPointerAt offset: Int, isWide: Bool
  ) throws(FleeceError) -> Int {
    // SAFETY: the caller has checked that the pointer lies within the bytes.
    let units =
      isWide
      ? Int(start.u32(offset).byteSwapped & 0x7FFF_FFFF) : Int(start.u16(offset).byteSwapped & 0x7FFF)
    let target = offset &- 2 &* units
    guard units > 0, target >= 0 else {
      throw FleeceError.damaged(at: offset, "a pointer leads to no earlier place in the bytes")
    }
    return target
  }

  /// Follows pointers to pointers; all but the first have four bytes.
  @inline(never) private static func chain(
    _ start: UnsafeRawPointer, _ length: Int, from first: Int, to second: Int
  ) throws(FleeceError) -> FleeceValue {
    var (before, at) = (first, second)
    for _ in 0..<FleeceLimits.pointerHops {
      if start.u8(at) < FleeceFormat.pointerBit {
        return FleeceValue(start: start, length: length, offset: at, limit: before)
      }
      guard at + 4 <= before else {
        throw FleeceError.damaged(at: at, "a pointer that is pointed at has fewer than four bytes")
      }
      (before, at) = (at, try target(start, ofPointerAt: at, isWide: true))
    }
    throw FleeceError.damaged(at: first, "a pointer leads to a pointer, and so on too often")
  }

  // SAFETY: invariant 1; the same for all reads of two bytes below.
  @inline(__always) var firstByte: UInt8 { start.u8(offset) }
  @inline(__always) var tag: FleeceTag? { FleeceTag(firstByte: firstByte) }

  /// The type of the value. Never throws: every first byte that is not a pointer's has a type.
  package var kind: Kind {
    switch tag {
    case .smallInteger, .integer: .integer
    case .float: .double
    case .special:
      switch firstByte & 0x0C {
      case 0: .null
      case 0x0C: .undefined
      default: .boolean
      }
    case .string: .string
    case .data: .data
    case .array: .array
    case .dictionary, nil: .dictionary
    }
  }

  /// Whether this is an array or a dictionary.
  @inline(__always) var isCollection: Bool { firstByte >= FleeceFormat.firstCollection }

  @inline(__always) var isUndefined: Bool { firstByte & 0xFC == FleeceFormat.undefined }

  /// The value as a Boolean; nil if it is something else. The same applies to the accessors below.
  package var boolean: Bool? {
    switch firstByte & 0xFC {
    case FleeceFormat.yes: true
    case FleeceFormat.no: false
    default: nil
    }
  }

  @inline(__always) private func check(_ size: Int) throws(FleeceError) {
    guard size <= limit &- offset else {
      throw FleeceError.damaged(at: offset, "a value runs over the end of its place")
    }
  }

  /// Returns a number of any form.
  package func number() throws(FleeceError) -> Number? {
    switch tag {
    case .smallInteger:
      let bits = Int16(bitPattern: start.u16(offset).byteSwapped &<< 4)
      return .integer(Int64(bits &>> 4))
    case .integer: return try longInteger()
    case .float: return .double(try float())
    default: return nil
    }
  }

  private func longInteger() throws(FleeceError) -> Number {
    let byte = firstByte
    let size = Int(byte & 7) &+ 1
    try check(1 &+ size)
    var bits: UInt64 = 0
    // SAFETY: the bytes lie before the limit.
    for index in 0..<size { bits |= UInt64(start.u8(offset &+ 1 &+ index)) &<< UInt64(8 &* index) }
    if byte & FleeceFormat.unsignedBit != 0 {
      return bits > UInt64(Int64.max) ? .unsigned(bits) : .integer(Int64(bits))
    }
    let unused = UInt64(64 &- 8 &* size)
    return .integer(Int64(bitPattern: bits &<< unused) &>> Int64(unused))
  }

  private func float() throws(FleeceError) -> Double {
    if firstByte & FleeceFormat.float64Bit != 0 {
      try check(10)
      // SAFETY: the bytes lie before the limit; the same below.
      return Double(bitPattern: start.u64(offset &+ 2))
    }
    try check(6)
    return Double(Float(bitPattern: start.u32(offset &+ 2)))
  }

  /// Returns the bytes of a string. They have not been validated as UTF-8.
  package func text() throws(FleeceError) -> UnsafeRawBufferPointer? {
    tag == .string ? try counted() : nil
  }

  /// Returns the bytes of a string, validated as UTF-8.
  package func provenText() throws(FleeceError) -> UnsafeRawBufferPointer? {
    guard let text = try text() else { return nil }
    guard let start = text.baseAddress, UTF8Text.isValid(start, text.count) else {
      throw FleeceError.damaged(at: offset, "a string is not UTF-8")
    }
    return text
  }

  /// Returns the bytes of binary data.
  package func data() throws(FleeceError) -> UnsafeRawBufferPointer? {
    tag == .data ? try counted() : nil
  }

  package func string() throws(FleeceError) -> String? {
    guard let text = try text() else { return nil }
    guard let start = text.baseAddress, !text.isEmpty else { return "" }
    // Not `String(validating:)`, which takes ten times as long for short texts.
    guard UTF8Text.isValid(start, text.count) else {
      throw FleeceError.damaged(at: offset, "a string is not UTF-8")
    }
    return String(decoding: text, as: UTF8.self)
  }

  @inline(__always) func counted() throws(FleeceError) -> UnsafeRawBufferPointer {
    var size = Int(firstByte & 0x0F)
    var header = 1
    if size == FleeceFormat.longString {
      // SAFETY: the varint is read up to the limit, which lies within the bytes.
      guard let (count, length) = Varint.read(start + offset + 1, end: start + limit),
        count <= UInt64(limit &- offset)
      else { throw FleeceError.damaged(at: offset, "the length of a string is not whole or too great") }
      size = Int(truncatingIfNeeded: count)
      header &+= length
    }
    try check(header &+ size)
    return UnsafeRawBufferPointer(start: start + offset + header, count: size)
  }

  /// Whether the value is not a collection and takes at most 15 bytes.
  @inline(__always) var isShort: Bool {
    switch tag {
    case .string, .data: firstByte & 0x0F != FleeceFormat.longString
    case .array, .dictionary: false
    case .smallInteger, .integer, .float, .special, nil: true
    }
  }

  /// Returns the range of the value's own bytes, without the targets of its items.
  func extent() throws(FleeceError) -> Range<Int> {
    switch tag {
    case .integer: return offset..<offset &+ 2 &+ Int(firstByte & 7)
    case .float: return offset..<offset &+ (firstByte & FleeceFormat.float64Bit != 0 ? 10 : 6)
    case .string, .data:
      let bytes = try counted()
      return offset..<(bytes.baseAddress.map { $0 - start } ?? offset) &+ max(bytes.count, 1)
    case .array, .dictionary:
      let items = try FleeceItems(of: self)
      return offset..<items.first &+ items.size
    case .smallInteger, .special, nil: return offset..<offset &+ 2
    }
  }

  package func array() throws(FleeceError) -> FleeceArray? {
    tag == .array ? FleeceArray(items: try FleeceItems(of: self)) : nil
  }

  package func dictionary() throws(FleeceError) -> FleeceDictionary? {
    tag == .dictionary ? FleeceDictionary(items: try FleeceItems(of: self)) : nil
  }
}
