/// Iterates over a dictionary, including inherited members, in the order of the keys.
///
/// Each dictionary in a chain of inheritance is sorted, so the next member has the least of all
/// next keys. If several dictionaries have that key, the inheriting one takes precedence. Keys that
/// are out of order or repeated are damage.
package struct FleeceMembers {
  package struct Member {
    /// The key in UTF-8, which has not been checked.
    package let key: UnsafeRawBufferPointer
    package let value: FleeceValue
  }

  private struct Level {
    let items: FleeceItems
    /// The index of the next member.
    var index: Int
    var isAtEnd: Bool { index >= items.slots / 2 }
  }

  private var own: Level
  private var inherited: [Level] = []
  private var previous: UnsafeRawBufferPointer?

  init(_ items: FleeceItems) throws(FleeceError) {
    own = Level(items: items, index: 0)
    var parent = try items.parent
    if parent != nil { own.index = 1 }
    while let level = parent {
      guard inherited.count < FleeceLimits.inheritance - 1 else {
        throw FleeceDictionary.inheritsTooDeeply(items)
      }
      parent = try level.parent
      inherited.append(Level(items: level, index: parent == nil ? 0 : 1))
    }
  }

  /// The number of bytes in the items of all dictionaries in the chain, which is the cost of
  /// iterating over them.
  var size: Int { inherited.reduce(own.items.size) { $0 + $1.items.size } }

  package mutating func next() throws(FleeceError) -> Member? {
    while true {
      guard let member = try inherited.isEmpty ? nextOfOne() : nextOfAll() else { return nil }
      if let previous, !FleeceMembers.isLess(previous, member.key) {
        throw FleeceMembers.outOfOrder(own.items)
      }
      previous = member.key
      if !member.value.isUndefined { return member }
    }
  }

  static func outOfOrder(_ items: FleeceItems) -> FleeceError {
    FleeceError.damaged(at: items.first, "the keys of a dictionary are not in order")
  }

  @inline(__always) private mutating func nextOfOne() throws(FleeceError) -> Member? {
    if own.isAtEnd { return nil }
    let slot = 2 &* own.index
    own.index &+= 1
    return Member(key: try own.items.key(slot), value: try own.items[slot &+ 1])
  }

  private mutating func nextOfAll() throws(FleeceError) -> Member? {
    var least: (key: UnsafeRawBufferPointer, level: Level)?
    if !own.isAtEnd { least = (try own.items.key(2 * own.index), own) }
    for level in inherited where !level.isAtEnd {
      let key = try level.items.key(2 * level.index)
      if let known = least, !FleeceMembers.isLess(key, known.key) { continue }
      least = (key, level)
    }
    guard let (key, level) = least else { return nil }
    let member = Member(key: key, value: try level.items[2 * level.index + 1])
    try FleeceMembers.step(&own, over: key)
    for index in inherited.indices { try FleeceMembers.step(&inherited[index], over: key) }
    return member
  }

  private static func step(_ level: inout Level, over key: UnsafeRawBufferPointer) throws(FleeceError) {
    if level.isAtEnd { return }
    let candidate = try level.items.key(2 * level.index)
    if !isLess(key, candidate), !isLess(candidate, key) { level.index += 1 }
  }

  @inline(__always) private static func isLess(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer)
    -> Bool
  {
    FleeceDictionary.order(a, b) < 0
  }
}
