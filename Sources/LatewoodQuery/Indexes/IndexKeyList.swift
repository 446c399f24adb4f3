import LatewoodBytes
import LatewoodFleece

/// Keys of documents in indexes, each followed by the id of its document: the keys of entries, in
/// one array.
package struct IndexKeyList {
  /// The position of a key and an id.
  package struct Place {
    package let offset: Int
    fileprivate let keyLength: UInt32
    fileprivate let idLength: UInt32
    /// See ``IndexKey/isCut``.
    package let isCut: Bool
    /// See ``IndexKey/lacksValue``.
    package let lacksValue: Bool

    /// The length of the key, without the id.
    @inline(__always) package var keyCount: Int { Int(keyLength) }
    /// The length of the key and the id.
    @inline(__always) package var count: Int { Int(keyLength) &+ Int(idLength) }
  }

  /// The bytes at all positions, and perhaps unused ones in between.
  private var memory = CollationKey(limit: IndexKey.lengthLimit)
  package private(set) var places: [Place] = []

  package init() {}

  package var bytes: [UInt8] { memory.bytes }
  /// The number of `bytes`.
  package var byteCount: Int { memory.bytes.count }

  /// Makes space for a number of keys of the usual length.
  package mutating func reserveCapacity(_ count: Int) {
    places.reserveCapacity(count)
    memory.reserveCapacity(count &* IndexKeyList.usualLength)
  }

  /// The usual number of bytes of a key and an id.
  private static let usualLength = 48

  /// Removes all keys, keeping their memory.
  package mutating func removeAll() {
    memory.removeAll()
    places.removeAll(keepingCapacity: true)
  }

  /// Appends a key and an id. If `write` throws, nothing is appended.
  ///
  /// - Parameter write: writes the key; returns whether it lacks a value.
  mutating func append(
    _ id: UnsafeRawBufferPointer, _ write: (inout CollationKey) throws(FleeceError) -> Bool
  ) throws(FleeceError) {
    let offset = memory.bytes.count
    memory.beginNext()
    let lacksValue = try write(&memory)
    add(id, at: offset, isCut: memory.isCut, lacksValue: lacksValue)
  }

  /// Appends the key of some members, and an id. If this throws, nothing is appended.
  ///
  /// - Parameters:
  ///   - parts: the members; see ``IndexDefinition/plainParts``.
  ///   - root: the object that contains the members.
  package mutating func append(
    _ parts: [IndexDefinition.Part], of root: FleeceValue, _ id: UnsafeRawBufferPointer
  ) throws(FleeceError) {
    let offset = memory.bytes.count
    memory.beginNext()
    var lacksValue = false
    let parts = parts.span
    for place in parts.indices {
      let value = try parts[place].path.lookup(in: root).value
      if CollationTag(value) <= .null { lacksValue = true }
      try memory.append(value, descending: parts[place].isDescending)
    }
    add(id, at: offset, isCut: memory.isCut, lacksValue: lacksValue)
  }

  /// Appends a key that is already encoded, and an id.
  package mutating func append(
    _ key: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer, isCut: Bool, lacksValue: Bool
  ) {
    let offset = memory.bytes.count
    memory.append(other: key)
    add(id, at: offset, isCut: isCut, lacksValue: lacksValue)
  }

  /// Appends the id behind the key at an offset.
  @inline(__always) private mutating func add(
    _ id: UnsafeRawBufferPointer, at offset: Int, isCut: Bool, lacksValue: Bool
  ) {
    let keyCount = memory.bytes.count &- offset
    memory.append(other: id)
    places.append(
      Place(
        offset: offset, keyLength: UInt32(truncatingIfNeeded: keyCount),
        idLength: UInt32(truncatingIfNeeded: id.count), isCut: isCut, lacksValue: lacksValue))
  }

  /// Calls `body` with a key and its id.
  package func withEntry(
    _ place: Place, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) rethrows {
    try memory.bytes.withUnsafeBytes {
      try body(UnsafeRawBufferPointer(rebasing: $0[place.offset..<place.offset + place.count]))
    }
  }

  /// Returns whether a key and its id are equal to a key and an id in another list.
  package func isEqual(_ own: Place, _ other: Place, of list: IndexKeyList) -> Bool {
    guard own.keyLength == other.keyLength, own.idLength == other.idLength, own.isCut == other.isCut else {
      return false
    }
    return memory.bytes.withUnsafeBytes { left in
      list.memory.bytes.withUnsafeBytes { right in
        guard let first = left.baseAddress, let second = right.baseAddress else { return true }
        // SAFETY: the positions lie within the bytes of their lists.
        return KeyOrder.isEqual(first + own.offset, second + other.offset, own.count)
      }
    }
  }

  package func key(_ place: Place) -> IndexKey {
    IndexKey(
      bytes: Array(memory.bytes[place.offset..<place.offset + place.keyCount]), isCut: place.isCut,
      lacksValue: place.lacksValue)
  }
}
