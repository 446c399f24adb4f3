import LatewoodBytes

/// A copy of a body in which members of the root are replaced, created without encoding the other
/// members again.
///
/// This is possible if the encoded forms of the changed and the old body differ only in the
/// replaced values: both values fit into an item, or both are numbers of the same stored form,
/// outside the items. The whole body is validated, and no other value or key may have bytes in the
/// replaced ranges. This library never shares numbers; other writers may.
package struct FleecePatch: ~Copyable {
  private struct Edit {
    var place: Range<Int>
    var value: [UInt8]
    /// The number of values that have bytes in the range. An item is part of the root, too.
    var uses: Int
  }

  private let body: FleeceBody
  private var edits: [Edit] = []

  /// Begins a patch; nil unless `element` is the root of its body and a dictionary without
  /// inheritance.
  package init?(_ element: FleeceElement) throws(FleeceError) {
    body = element.body
    guard try element.isRoot, try element.isWithoutParent() else { return nil }
  }

  /// Replaces the value of a key, and returns whether that is possible.
  ///
  /// - Parameter value: a separate value as Fleece, in canonical form.
  package mutating func replace(_ key: String, with value: [UInt8]) throws(FleeceError) -> Bool {
    let edit = try body.withRoot { (root) throws(FleeceError) in
      try FleecePatch.edit(key, in: root, to: value)
    }
    guard let edit else { return false }
    edits.append(edit)
    return true
  }

  /// Returns the whole body; nil if the replaced bytes belong to other values, too. O(values).
  package consuming func finish() throws(FleeceError) -> [UInt8]? {
    let ranges = edits.map(\.place)
    let uses = try body.withRoot { (root) throws(FleeceError) in try root.uses(of: ranges) }
    guard uses == edits.map(\.uses) else { return nil }
    var bytes = body.bytes
    for edit in edits { bytes.replaceSubrange(edit.place, with: edit.value[..<edit.place.count]) }
    return bytes
  }

  /// Returns how to replace the value of a key; nil if the layout would change.
  private static func edit(
    _ key: String, in root: FleeceValue, to value: [UInt8]
  ) throws(FleeceError) -> Edit? {
    guard let items = try root.dictionary()?.items else { return nil }
    var key = key
    let found = key.withUTF8 { key in
      Result { () throws(FleeceError) in
        try FleeceDictionary.slot(of: UnsafeRawBufferPointer(key), in: items, from: 0)
      }
    }
    guard let slot = try found.get() else { return nil }
    let old = try items[slot]
    // A value that fits into an item is the only item in its Fleece; otherwise the Fleece ends with
    // a pointer to the value.
    if value.count == 2 {
      let offset = items.offset(of: slot)
      return old.offset == offset && !old.isUndefined
        ? Edit(place: offset..<offset + 2, value: value, uses: 2) : nil
    }
    let length = value.count - 2
    guard old.offset + length <= root.offset, value.first == old.firstByte,
      old.tag == .integer || old.tag == .float, length <= old.limit - old.offset
    else { return nil }
    return Edit(place: old.offset..<old.offset + length, value: value, uses: 1)
  }
}

extension FleeceElement {
  /// Returns whether this is a dictionary that does not inherit from another.
  fileprivate func isWithoutParent() throws(FleeceError) -> Bool {
    try withValue { value throws(FleeceError) in
      guard let items = try value.dictionary()?.items else { return false }
      return try items.parent == nil
    }
  }
}
