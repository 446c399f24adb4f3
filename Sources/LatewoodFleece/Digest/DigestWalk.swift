import LatewoodBytes

/// Adds a value to a hash in fewer instructions than a `FleeceWalk`, because every save does it.
/// The checks, the limits and the hash are the same. The only difference is that it stops at a
/// dictionary that inherits from another, which this library never writes.
struct DigestWalk {
  private struct Frame {
    var items: FleeceItems
    var isArray: Bool
    /// The slot of the next element or key.
    var slot = 0
    /// The key before the next one.
    var previous: UnsafeRawBufferPointer?
  }

  private var hash: ValueHash
  /// The innermost collection.
  private var frame: Frame
  /// The collections around it, the innermost last.
  private var outer: [Frame] = []
  /// The offset of the root.
  private let root: Int
  /// The number of bytes that may still be visited.
  private var rest: Int

  /// Returns the hash with the value; nil if something in the value inherits.
  static func run(_ value: FleeceValue, _ hash: ValueHash) throws(FleeceError) -> ValueHash? {
    let isArray = value.tag == .array
    guard isArray || value.tag == .dictionary else { return nil }
    var walk = DigestWalk(
      hash: hash, frame: Frame(items: try FleeceItems(of: value), isArray: isArray), root: value.offset,
      rest: FleeceLimits.expansion(ofLength: value.length))
    try walk.spend(2 &+ walk.frame.items.size, value.offset)
    if !isArray, try walk.frame.items.parent != nil { return nil }
    walk.hash.absorb(isArray ? .beginArray : .beginDictionary)
    return try walk.visitAll() ? walk.hash : nil
  }

  /// Returns false if something inherits.
  private mutating func visitAll() throws(FleeceError) -> Bool {
    while true {
      if frame.slot >= frame.items.slots {
        hash.absorb(frame.isArray ? .endArray : .endDictionary)
        guard let last = outer.popLast() else { return true }
        frame = last
      } else if frame.isArray {
        let value = try frame.items[frame.slot]
        frame.slot &+= 1
        guard try visit(value) else { return false }
      } else {
        guard try visitMember() else { return false }
      }
    }
  }

  @inline(__always) private mutating func visitMember() throws(FleeceError) -> Bool {
    let key = try frame.items.key(frame.slot)
    if let previous = frame.previous, FleeceDictionary.order(previous, key) >= 0 {
      throw FleeceMembers.outOfOrder(frame.items)
    }
    frame.previous = key
    let value = try frame.items[frame.slot &+ 1]
    frame.slot &+= 2
    if value.isUndefined { return true }
    try proveText(key, root)
    hash.absorb(.name, key)
    return try visit(value)
  }

  @inline(__always) private mutating func visit(_ value: FleeceValue) throws(FleeceError) -> Bool {
    try spend(2, value.offset)
    switch value.tag {
    case .smallInteger, .integer, .float: if let number = try value.number() { hash.absorb(number) }
    case .special: hash.absorb(value.boolean.map { $0 ? .yes : .no } ?? .null)
    case .string:
      let text = try value.counted()
      try proveText(text, value.offset)
      hash.absorb(.text, text)
    case .data:
      let data = try value.counted()
      try spend(data.count, value.offset)
      hash.absorb(.data, data)
    case .array, .dictionary, nil: return try enter(value)
    }
    return true
  }

  private mutating func enter(_ value: FleeceValue) throws(FleeceError) -> Bool {
    let isArray = value.tag == .array
    let items = try FleeceItems(of: value)
    guard outer.count &+ 1 < FleeceLimits.depth else { throw FleeceError.tooDeep(offset: value.offset) }
    if !isArray, try items.parent != nil { return false }
    try spend(items.size, value.offset)
    outer.append(frame)
    frame = Frame(items: items, isArray: isArray)
    hash.absorb(isArray ? .beginArray : .beginDictionary)
    return true
  }

  @inline(__always) private mutating func spend(_ size: Int, _ offset: Int) throws(FleeceError) {
    rest &-= size
    if rest < 0 { throw FleeceError.outOfProportion(offset: offset) }
  }

  @inline(__always) private mutating func proveText(
    _ text: UnsafeRawBufferPointer, _ offset: Int
  ) throws(FleeceError) {
    try spend(text.count, offset)
    guard let start = text.baseAddress, UTF8Text.isValid(start, text.count) else {
      throw FleeceError.damaged(at: offset, "a string is not UTF-8")
    }
  }
}

extension ValueHash {
  /// Adds a number: a whole one as an integer, if 64 bits can represent it.
  @inline(__always) mutating func absorb(_ number: FleeceValue.Number) {
    switch number {
    case .integer(let value): absorb(.integer, UInt64(bitPattern: value))
    case .unsigned(let value): absorb(.unsigned, value)
    case .double(let value):
      switch ValueTape.Kind.number(value) {
      case (.integer, let bits): absorb(.integer, bits)
      case (.unsigned, let bits): absorb(.unsigned, bits)
      default: absorb(.double, value.isNaN ? Double.nan.bitPattern : value.bitPattern)
      }
    }
  }

  @inline(__always) mutating func absorb(_ tag: ValueTag, _ word: UInt64 = 0) {
    absorb(UInt64(tag.rawValue), word)
  }
}
