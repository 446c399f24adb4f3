/// Visits a value and everything in it, and validates all of it.
///
/// Not recursive, so depth costs no stack. The walk has two limits: `FleeceLimits.depth` for the
/// levels, and `FleeceLimits.expansion` for the total size of the visited values, counting shared
/// parts each time. Undefined values are null in an array, and absent in a dictionary.
package struct FleeceWalk: ~Copyable {
  /// A collection that has been entered.
  struct Frame {
    let items: FleeceItems
    let isArray: Bool
    /// Whether this is a dictionary that inherits. Its members are in `lines`, and it has no slots
    /// left.
    let inherits: Bool
    /// The slot of the next element or key.
    var slot: Int
    /// The key before the next one.
    var previous: UnsafeRawBufferPointer?

    @inline(__always) var isAtEnd: Bool { slot >= items.slots }
  }

  private var frames: GrowingList<Frame>
  /// The members of the entered dictionaries that inherit from others, the innermost last.
  private var lines: [FleeceMembers] = []
  /// The offset of the root.
  private let root: Int
  /// The number of bytes that may still be visited.
  private var rest: Int
  private var watch: FleeceWatch

  package static func run<Visitor: FleeceVisitor & ~Copyable>(
    _ value: FleeceValue, into visitor: inout Visitor
  ) throws(FleeceError) {
    _ = try run(value, into: &visitor, counting: [])
  }

  /// Like `run`, but also returns, for each of the given byte ranges, the number of visited values
  /// and keys that have bytes in it. An indirect path to a value, by pointers to pointers or by
  /// inheritance, counts once for every range.
  static func run<Visitor: FleeceVisitor & ~Copyable>(
    _ value: FleeceValue, into visitor: inout Visitor, counting ranges: [Range<Int>]
  ) throws(FleeceError) -> [Int] {
    var walk = FleeceWalk(value, FleeceWatch(ranges))
    try walk.visit(value, &visitor)
    while try walk.visitNext(&visitor) {}
    return walk.watch.uses
  }

  private init(_ value: FleeceValue, _ watch: consuming FleeceWatch) {
    frames = GrowingList(capacity: 8)
    root = value.offset
    rest = FleeceLimits.expansion(ofLength: value.length)
    self.watch = watch
  }

  /// Visits the next values of the innermost collection, or ends that collection. Returns false if
  /// all have ended.
  @inline(__always) private mutating func visitNext<Visitor: FleeceVisitor & ~Copyable>(
    _ visitor: inout Visitor
  ) throws(FleeceError) -> Bool {
    guard let frame = frames.last else { return false }
    if frame.isAtEnd {
      if frame.inherits, let member = try lines[lines.count - 1].next() {
        try visit(key: member.key, &visitor)
        try visit(member.value, &visitor)
        return true
      }
      frames.removeLast()
      if frame.isArray { try visitor.endArray() } else { try visitor.endDictionary() }
      if frame.inherits { lines.removeLast() }
    } else if frame.isArray {
      try visitElements(frame, &visitor)
    } else {
      try visitMembers(frame, &visitor)
    }
    return true
  }

  /// Visits the next elements of an array, up to the first that is a collection.
  @inline(__always) private mutating func visitElements<Visitor: FleeceVisitor & ~Copyable>(
    _ frame: Frame, _ visitor: inout Visitor
  ) throws(FleeceError) {
    let index = frames.count &- 1
    var slot = frame.slot
    while slot < frame.items.slots {
      let value = try frame.items[slot]
      if watch.isOn { watch.countSpan(to: value, from: frame.items.offset(of: slot)) }
      slot &+= 1
      if value.isCollection {
        frames[index].slot = slot
        return try visit(value, &visitor)
      }
      try visit(scalar: value, &visitor)
    }
    frames[index].slot = slot
  }

  /// Visits the next members of a dictionary, up to the first whose value is a collection.
  @inline(__always) private mutating func visitMembers<Visitor: FleeceVisitor & ~Copyable>(
    _ frame: Frame, _ visitor: inout Visitor
  ) throws(FleeceError) {
    let index = frames.count &- 1
    var (slot, previous) = (frame.slot, frame.previous)
    while slot < frame.items.slots {
      let key = try frame.items.key(slot)
      if let previous, FleeceDictionary.order(previous, key) >= 0 {
        throw FleeceMembers.outOfOrder(frame.items)
      }
      previous = key
      let value = try frame.items[slot &+ 1]
      slot &+= 2
      if value.isUndefined { continue }
      if watch.isOn { try watchMember(frame.items, slot &- 2, value) }
      try visit(key: key, &visitor)
      if value.isCollection {
        frames[index].slot = slot
        frames[index].previous = previous
        return try visit(value, &visitor)
      }
      try visit(scalar: value, &visitor)
    }
    frames[index].slot = slot
  }

  private mutating func watchMember(
    _ items: FleeceItems, _ slot: Int, _ value: FleeceValue
  ) throws(FleeceError) {
    let key = try items[slot]
    watch.countSpan(to: key, from: items.offset(of: slot))
    watch.countSpan(to: value, from: items.offset(of: slot &+ 1))
    try watch.count(key)
  }

  @inline(__always) private mutating func visit<Visitor: FleeceVisitor & ~Copyable>(
    key: UnsafeRawBufferPointer, _ visitor: inout Visitor
  ) throws(FleeceError) {
    try proveText(key, root)
    try visitor.key(key)
  }

  private mutating func visit<Visitor: FleeceVisitor & ~Copyable>(
    _ value: FleeceValue, _ visitor: inout Visitor
  ) throws(FleeceError) {
    guard value.isCollection else { return try visit(scalar: value, &visitor) }
    try spend(2, value.offset)
    if watch.isOn { try watch.count(value) }
    let isArray = value.tag == .array
    try enter(value, isArray: isArray)
    if isArray { try visitor.beginArray() } else { try visitor.beginDictionary() }
  }

  @inline(__always) private mutating func visit<Visitor: FleeceVisitor & ~Copyable>(
    scalar value: FleeceValue, _ visitor: inout Visitor
  ) throws(FleeceError) {
    try spend(2, value.offset)
    if watch.isOn { try watch.count(value) }
    switch value.tag {
    case .smallInteger, .integer, .float: try visitNumber(value, &visitor)
    case .special:
      if let boolean = value.boolean { try visitor.boolean(boolean) } else { try visitor.null() }
    case .string:
      let text = try value.counted()
      try proveText(text, value.offset)
      try visitor.text(text)
    case .data:
      let data = try value.counted()
      try spend(data.count, value.offset)
      try visitor.data(data)
    case .array, .dictionary, nil: break
    }
  }

  @inline(__always) private func visitNumber<Visitor: FleeceVisitor & ~Copyable>(
    _ value: FleeceValue, _ visitor: inout Visitor
  ) throws(FleeceError) {
    switch try value.number() {
    case .integer(let number)?: try visitor.integer(number)
    case .unsigned(let number)?: try visitor.unsigned(number)
    case .double(let number)?: try visitor.double(number)
    case nil: break
    }
  }

  @inline(__always) private mutating func enter(_ value: FleeceValue, isArray: Bool) throws(FleeceError) {
    let items = try FleeceItems(of: value)
    guard frames.count < FleeceLimits.depth else { throw FleeceError.tooDeep(offset: value.offset) }
    if !isArray, try items.parent != nil {
      let members = try FleeceMembers(items)
      try spend(members.size, value.offset)
      lines.append(members)
      watch.countForAll()
      frames.append(Frame(items: items, isArray: false, inherits: true, slot: items.slots))
    } else {
      try spend(items.size, value.offset)
      frames.append(Frame(items: items, isArray: isArray, inherits: false, slot: 0))
    }
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

extension FleeceError {
  @inline(never) static func outOfProportion(offset: Int) -> FleeceError {
    FleeceError(
      .tooLarge, "the bytes stand for a value that is out of proportion larger than they are",
      offset: offset)
  }
}
