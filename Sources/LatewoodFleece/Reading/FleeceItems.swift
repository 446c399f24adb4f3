import LatewoodBytes

/// The items of an array, or of a dictionary (key, value, key, value), whose extent has been
/// checked.
///
/// Invariant: `first + slots * width <= limit of the value`, so every slot below `slots` lies
/// within the bytes.
struct FleeceItems {
  let start: UnsafeRawPointer
  let length: Int
  /// The offset of the first item.
  let first: Int
  let slots: Int
  let isWide: Bool

  /// - Parameter value: an array or a dictionary.
  init(of value: FleeceValue) throws(FleeceError) {
    start = value.start
    length = value.length
    let header = start.u16(value.offset).byteSwapped
    var count = Int(header & 0x07FF)
    var first = value.offset &+ 2
    if count == FleeceFormat.longCollection {
      // SAFETY: the varint is read up to the limit, which lies within the bytes.
      guard let (rest, size) = Varint.read(start + first, end: start + value.limit),
        rest <= UInt64(length)
      else {
        throw FleeceError.damaged(at: value.offset, "the count of a collection is not whole or too great")
      }
      count &+= Int(truncatingIfNeeded: rest)
      first &+= (size &+ 1) & ~1
    }
    isWide = value.firstByte & FleeceFormat.wideBit != 0
    slots = value.tag == .dictionary ? count &* 2 : count
    // The count is at most the length of the bytes, so nothing here overflows.
    guard count == 0 || slots &* (isWide ? 4 : 2) <= value.limit &- first else {
      throw FleeceError.damaged(at: value.offset, "a collection runs over the end of its place")
    }
    self.first = first
  }

  /// - Parameters:
  ///   - start: the start of the bytes in which the layout was found.
  ///   - length: their number.
  init(_ layout: Layout, start: UnsafeRawPointer, length: Int) {
    self.start = start
    self.length = length
    first = layout.first
    slots = layout.slots
    isWide = layout.isWide
  }

  /// The part that may be kept: the owner of the bytes may move them.
  struct Layout {
    fileprivate let first: Int
    fileprivate let slots: Int
    fileprivate let isWide: Bool
  }
  var layout: Layout { Layout(first: first, slots: slots, isWide: isWide) }

  /// The number of bytes of all items.
  var size: Int { slots &* (isWide ? 4 : 2) }

  /// Returns the offset of the item in a slot.
  @inline(__always) func offset(of slot: Int) -> Int { first &+ slot &* (isWide ? 4 : 2) }

  /// The item in a slot below `slots`.
  @inline(__always) subscript(slot: Int) -> FleeceValue {
    get throws(FleeceError) {
      precondition(slot >= 0 && slot < slots)
      return try FleeceValue.item(start, length, at: offset(of: slot), isWide: isWide)
    }
  }

  /// Returns the bytes of a key. Integer keys, which would refer to strings in a table outside the
  /// bytes, are refused.
  @inline(__always) func key(_ slot: Int) throws(FleeceError) -> UnsafeRawBufferPointer {
    let key = try self[slot]
    guard key.tag == .string else {
      throw FleeceError.damaged(
        at: offset(of: slot),
        key.kind == .integer
          ? "a key is the number of a shared key, but the body has no table of shared keys"
          : "a key is not a string")
    }
    return try key.counted()
  }

  /// The dictionary from which a dictionary inherits; nil if there is none.
  var parent: FleeceItems? {
    get throws(FleeceError) {
      guard slots > 0 else { return nil }
      // SAFETY: there is at least one item, which has at least two bytes.
      guard start.u16(first).byteSwapped == UInt16(bitPattern: FleeceFormat.parentKey) & 0x0FFF else {
        return nil
      }
      let value = try self[1]
      guard value.tag == .dictionary else {
        throw FleeceError.damaged(at: value.offset, "the parent of a dictionary is not a dictionary")
      }
      return try FleeceItems(of: value)
    }
  }
}

/// An array inside Fleece bytes, read in place; see `FleeceValue`.
package struct FleeceArray {
  let items: FleeceItems

  package var count: Int { items.slots }

  /// Returns an element; `index` must be in `0 ..< count`. O(1).
  package func value(at index: Int) throws(FleeceError) -> FleeceValue { try items[index] }
}
