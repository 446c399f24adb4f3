import LatewoodBytes

/// Turns a tape into Fleece.
///
/// ```
/// collection:  targets of its values, in order -> targets of its keys -> header, items
/// ```
///
/// The rules by which the value determines the bytes:
/// 1. Members are in the order of their keys' bytes. If several have the same key, only the one
///    that was written last is kept.
/// 2. A value that fits into an item is stored in it; everything else is written before the
///    collection.
/// 3. A string of up to 128 bytes is replaced by a pointer to its last copy if that lies within
///    60,000 bytes. Other values are not shared.
/// 4. Items have four bytes if a pointer of two bytes would not reach or if, in an array, more than
///    half of the values are integers that fit into four bytes but not into two.
struct FleeceLayout: ~Copyable {
  /// A child of a collection that is being laid out.
  struct Item {
    var node: UInt32
    var key: UInt32
    /// The contents of the item; see `pointer(to:)`. For a member of a dictionary, the first eight
    /// bytes of the key until the members are sorted.
    var slot: UInt64 = 0
    /// The same for the key. Until the members are sorted, the index of the item before that.
    var keySlot: UInt64 = 0
  }

  /// A collection that is being laid out. Its items are the elements of `items` starting at
  /// `first`.
  struct Frame {
    var node: UInt32
    var first: Int
    var next: Int
    /// Whether items have four bytes, decided beforehand by rule 4.
    var isWide: Bool
  }

  var output = GrowingBytes(capacity: 4096)
  private var items = GrowingList<Item>(capacity: ValueTape.usualCount)
  private var frames = GrowingList<Frame>(capacity: 4)
  /// The indexes of the members of the last root that had to be sorted, in the order of their keys:
  /// the documents of a collection usually have the same members, written in the same order.
  private var lastOrder = GrowingList<Int>(capacity: ValueTape.usualCount)
  private var sorted = GrowingList<Item>(capacity: ValueTape.usualCount)

  /// Converts the tape's root to Fleece, and returns it.
  mutating func encode(_ tape: inout ValueTape) throws(FleeceError) -> [UInt8] {
    try prepare(&tape)
    return converted
  }

  /// The value that `prepare` has converted.
  var converted: [UInt8] { output.array() }

  /// Converts the tape's root to Fleece. The tape must have a root, and every reserved node must be
  /// filled.
  mutating func prepare(_ tape: inout ValueTape) throws(FleeceError) {
    output.removeAll()
    items.removeAll()
    frames.removeAll()
    finish(try slotOfRoot(&tape))
    guard output.count <= FleeceLimits.encodedLength else {
      throw FleeceError(.tooLarge, "a value takes more than 2 GiB")
    }
  }

  /// Returns a slot that points at a position. All other slots have the bytes of a value in their
  /// low 32 bits, first byte highest.
  private static let pointerFlag: UInt64 = 1 << 63
  @inline(__always) static func pointer(to position: Int) -> UInt64 {
    pointerFlag | UInt64(truncatingIfNeeded: position)
  }
  @inline(__always) static func inline(_ first: UInt8, _ second: UInt8 = 0) -> UInt64 {
    UInt64(first) &<< 24 | UInt64(second) &<< 16
  }

  /// Lays out the root and everything in it, without recursion, so that depth costs no stack.
  /// Returns the root's slot.
  private mutating func slotOfRoot(_ tape: inout ValueTape) throws(FleeceError) -> UInt64 {
    // The root is treated as the only element of a collection.
    items.append(Item(node: 0, key: ValueTape.none))
    frames.append(Frame(node: ValueTape.none, first: 0, next: 0, isWide: false))
    while true {
      let frame = frames[frames.count &- 1]
      var next = frame.next
      while next < items.count, let slot = scalar(items[next].node, &tape, isWide: frame.isWide) {
        items[next].slot = slot
        next &+= 1
      }
      if next < items.count {
        frames[frames.count &- 1].next = next
        enter(items[next].node, tape)
      } else if frames.count == 1 {
        return items[0].slot
      } else {
        let position = leave(frame, &tape)
        guard output.count <= FleeceLimits.encodedLength else {
          throw FleeceError(.tooLarge, "a value takes more than 2 GiB")
        }
        let outer = frames.count &- 1
        items[frames[outer].next].slot = Self.pointer(to: position)
        frames[outer].next &+= 1
      }
    }
  }

  private mutating func enter(_ number: UInt32, _ tape: borrowing ValueTape) {
    let first = items.count
    var mediumIntegers = 0
    let isDictionary = tape.nodes[Int(number)].kind == .dictionary
    var child = tape.nodes[Int(number)].first
    while child != ValueTape.none {
      let node = tape.nodes[Int(child)]
      items.append(
        Item(
          node: child, key: node.key, slot: isDictionary ? tape.strings.entries[Int(node.key)].head : 0,
          keySlot: UInt64(truncatingIfNeeded: items.count)))
      if node.kind == .integer, FleeceLayout.integerLength(node.payload) <= 3,
        !FleeceFormat.smallIntegers.contains(Int64(bitPattern: node.payload))
      {
        mediumIntegers &+= 1
      }
      child = node.next
    }
    if isDictionary { sortMembers(from: first, tape) }
    let isWide = !isDictionary && 2 * mediumIntegers > items.count - first
    frames.append(Frame(node: number, first: first, next: first, isWide: isWide))
  }

  /// Applies rule 1. Sorting puts members with the same key next to each other, the last one last.
  private mutating func sortMembers(from first: Int, _ tape: borrowing ValueTape) {
    var isSorted = true
    var index = first &+ 1
    while index < items.count {
      if !Self.isLess(items[index &- 1], items[index], tape) {
        isSorted = false
        break
      }
      index &+= 1
    }
    // The root's items follow its own item.
    let isRoot = first == 1
    if isSorted || isRoot && sortAsBefore(from: first, tape) { return }
    if items.count - first <= 24 {
      sortFew(from: first, tape)
    } else {
      sortMany(from: first, tape)
    }
    var kept = first
    for index in first..<items.count {
      if index + 1 < items.count, items[index + 1].key == items[index].key { continue }
      items[kept] = items[index]
      kept += 1
    }
    if isRoot, kept == items.count {
      lastOrder.removeAll()
      for index in first..<kept { lastOrder.append(Int(truncatingIfNeeded: items[index].keySlot)) }
    }
    items.truncate(to: kept)
  }

  /// Sorts the members of a root into the order of the previous root's members. Unless their keys
  /// then ascend strictly, changes nothing and returns false.
  private mutating func sortAsBefore(from first: Int, _ tape: borrowing ValueTape) -> Bool {
    let count = lastOrder.count
    guard first + count == items.count else { return false }
    for place in 1..<count
    where !Self.isLess(items[lastOrder[place &- 1]], items[lastOrder[place]], tape) {
      return false
    }
    sorted.removeAll()
    for place in 0..<count { sorted.append(items[lastOrder[place]]) }
    for place in 0..<count { items[first &+ place] = sorted[place] }
    return true
  }

  /// Returns whether the key of one member sorts before the key of another.
  @inline(__always) private static func isLess(_ a: Item, _ b: Item, _ tape: borrowing ValueTape) -> Bool {
    a.slot == b.slot ? tape.strings.isLess(a.key, b.key) : a.slot < b.slot
  }

  private mutating func sortFew(from first: Int, _ tape: borrowing ValueTape) {
    for index in (first + 1)..<items.count {
      let item = items[index]
      var place = index
      while place > first, Self.isLess(item, items[place &- 1], tape) {
        items[place] = items[place &- 1]
        place &-= 1
      }
      items[place] = item
    }
  }

  /// Sorts by merging runs of doubling length: stable, and no slower for a maliciously chosen
  /// order.
  private mutating func sortMany(from first: Int, _ tape: borrowing ValueTape) {
    var source = (first..<items.count).map { items[$0] }
    var target = source
    var run = 1
    while run < source.count {
      var start = 0
      while start < source.count {
        let middle = min(start + run, source.count)
        let end = min(middle + run, source.count)
        var (left, right) = (start, middle)
        for place in start..<end {
          let takesRight =
            left == middle
            || right < end && Self.isLess(source[right], source[left], tape)
          target[place] = source[takesRight ? right : left]
          if takesRight { right &+= 1 } else { left &+= 1 }
        }
        start = end
      }
      swap(&source, &target)
      run *= 2
    }
    for (index, item) in source.enumerated() { items[first + index] = item }
  }

  /// Writes the collection of the innermost frame, whose values have their slots, and returns its
  /// position.
  private mutating func leave(_ frame: Frame, _ tape: inout ValueTape) -> Int {
    let isDictionary = tape.nodes[Int(frame.node)].kind == .dictionary
    if isDictionary {
      for index in frame.first..<items.count {
        items[index].keySlot = string(items[index].key, &tape, isWide: frame.isWide)
      }
    }
    output.padToEven()
    let position = output.count
    let count = items.count - frame.first
    let slots = isDictionary ? 2 * count : count
    let inline = min(count, FleeceFormat.longCollection)
    let rest = UInt64(count - inline)
    var header = 2
    if inline == FleeceFormat.longCollection { header += (Varint.length(rest) + 1) & ~1 }
    // If `end` is not greater than `reach`, every earlier position is within reach.
    let (end, reach) = (position + header + 2 * slots, FleeceFormat.narrowReach)
    let isWide = frame.isWide || end > reach && end - lowestTarget(of: frame) > reach
    let tag = (isDictionary ? FleeceTag.dictionary : .array).rawValue << 4
    output.append(bigEndian: UInt16(tag | (isWide ? FleeceFormat.wideBit : 0)) << 8 | UInt16(inline))
    if inline == FleeceFormat.longCollection {
      output.append(varint: rest)
      output.padToEven()
    }
    let width = isWide ? 4 : 2
    var place = output.count
    output.reserveAndCount(slots * width)
    for index in frame.first..<items.count {
      let item = items[index]
      if isDictionary {
        set(item.keySlot, isWide: isWide, at: place)
        place &+= width
      }
      set(item.slot, isWide: isWide, at: place)
      place &+= width
    }
    items.truncate(to: frame.first)
    frames.removeLast()
    return position
  }

  /// The lowest position that an item of a collection points to; `Int.max` if none does.
  private func lowestTarget(of frame: Frame) -> Int {
    var lowest = UInt64.max
    for index in frame.first..<items.count {
      let item = items[index]
      if item.slot & Self.pointerFlag != 0 { lowest = min(lowest, item.slot) }
      if item.keySlot & Self.pointerFlag != 0 { lowest = min(lowest, item.keySlot) }
    }
    return Int(truncatingIfNeeded: lowest & ~Self.pointerFlag)
  }

  private mutating func write(_ slot: UInt64, isWide: Bool) {
    let place = output.count
    output.reserveAndCount(isWide ? 4 : 2)
    set(slot, isWide: isWide, at: place)
  }

  /// Writes an item over bytes that have been added for it.
  @inline(__always) private mutating func set(_ slot: UInt64, isWide: Bool, at place: Int) {
    var (wide, narrow) = (UInt32(truncatingIfNeeded: slot), UInt16(truncatingIfNeeded: slot &>> 16))
    if slot & Self.pointerFlag != 0 {
      let units = (place &- Int(truncatingIfNeeded: slot & ~Self.pointerFlag)) &>> 1
      wide = UInt32(truncatingIfNeeded: units) | 0x8000_0000
      narrow = UInt16(truncatingIfNeeded: units) | 0x8000
    }
    // SAFETY: the bytes lie within the output; see the callers.
    if isWide {
      output.start.set(wide.byteSwapped, at: place)
    } else {
      output.start.set(narrow.byteSwapped, at: place)
    }
  }

  /// Writes the end of the data: the root, or a pointer to it, or a pointer to a wide pointer to
  /// it.
  private mutating func finish(_ slot: UInt64) {
    output.padToEven()
    guard slot & Self.pointerFlag != 0 else { return write(slot, isWide: false) }
    let distance = output.count - Int(truncatingIfNeeded: slot & ~Self.pointerFlag)
    if distance <= FleeceFormat.narrowReach {
      write(slot, isWide: false)
    } else {
      let position = output.count
      write(slot, isWide: true)
      write(Self.pointer(to: position), isWide: false)
    }
  }
}
