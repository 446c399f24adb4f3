import LatewoodBytes

/// A dictionary inside Fleece bytes, read in place; see `FleeceValue`.
///
/// A member whose value is undefined counts as absent. A dictionary that inherits from another uses
/// such a value to remove a member.
package struct FleeceDictionary {
  let items: FleeceItems

  /// Returns the number of members, including inherited ones. O(1) if none are inherited. In a
  /// dictionary that another writer encoded, the count may include undefined members.
  package func count() throws(FleeceError) -> Int {
    if try items.parent == nil { return items.slots / 2 }
    var members = try members()
    var count = 0
    while try members.next() != nil { count += 1 }
    return count
  }

  /// Returns the value of a key; nil if there is none. O(log n).
  package func value(for key: UnsafeRawBufferPointer) throws(FleeceError) -> FleeceValue? {
    try inherited { (level, first) throws(FleeceError) in
      try FleeceDictionary.find(key, in: level, from: first)
    }
  }

  /// Returns the first result of a search in this dictionary and the ones that it inherits from;
  /// nil if nothing or an undefined value is found.
  ///
  /// - Parameter find: searches the items of one dictionary, starting at the number of its first
  ///   member.
  @inline(__always) func inherited(
    _ find: (_ items: FleeceItems, _ first: Int) throws(FleeceError) -> FleeceValue?
  ) throws(FleeceError) -> FleeceValue? {
    var level = items
    for _ in 0..<FleeceLimits.inheritance {
      let parent = try level.parent
      if let value = try find(level, parent == nil ? 0 : 1) { return value.isUndefined ? nil : value }
      guard let parent else { return nil }
      level = parent
    }
    throw FleeceDictionary.inheritsTooDeeply(items)
  }

  package func value(for key: String) throws(FleeceError) -> FleeceValue? {
    var key = key
    return try key.withUTF8 { bytes in
      Result { () throws(FleeceError) -> FleeceValue? in try value(for: UnsafeRawBufferPointer(bytes)) }
    }.get()
  }

  /// Returns whether it is certain that no key begins with a byte. Always false if the dictionary
  /// inherits from another one.
  func hasNoKey(beginningWith first: UInt8) throws(FleeceError) -> Bool {
    guard try items.parent == nil else { return false }
    var slot = 0
    while slot < items.slots {
      let key = try items.key(slot)
      // Keys that are out of order are detected when the members are read.
      if let byte = key.first, byte >= first { return byte > first }
      slot &+= 2
    }
    return true
  }

  /// Returns all members in the order of their keys.
  package func members() throws(FleeceError) -> FleeceMembers { try FleeceMembers(items) }

  private static func find(
    _ key: UnsafeRawBufferPointer, in items: FleeceItems, from first: Int
  ) throws(FleeceError) -> FleeceValue? {
    try slot(of: key, in: items, from: first).map { (slot) throws(FleeceError) in try items[slot] }
  }

  /// Returns the slot of a key's value in the items of one dictionary; nil if it has no such key.
  ///
  /// - Parameter first: the number of the first member.
  static func slot(
    of key: UnsafeRawBufferPointer, in items: FleeceItems, from first: Int
  ) throws(FleeceError) -> Int? {
    var low = first
    var high = items.slots / 2
    while low < high {
      let middle = (low &+ high) &>> 1
      // Integers sort before strings.
      let order =
        try items[2 &* middle].kind == .integer ? -1 : FleeceDictionary.order(try items.key(2 &* middle), key)
      if order == 0 { return 2 &* middle &+ 1 }
      if order < 0 { low = middle &+ 1 } else { high = middle }
    }
    return nil
  }

  /// Compares two keys by their bytes.
  @inline(__always) static func order(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    guard let first = a.baseAddress, let second = b.baseAddress else { return a.count - b.count }
    // SAFETY: both buffers have the lengths that are passed.
    return KeyOrder.compare(first, a.count, second, b.count)
  }

  static func inheritsTooDeeply(_ items: FleeceItems) -> FleeceError {
    FleeceError(
      .tooDeep, "dictionaries inherit from each other more than \(FleeceLimits.inheritance) times",
      offset: items.first)
  }
}
