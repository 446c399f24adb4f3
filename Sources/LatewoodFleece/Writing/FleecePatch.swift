import LatewoodBytes

/// A copy of a body in which members of the root are replaced, made without encoding the others
/// again.
///
/// Possible if the canonical form of the changed value differs from the bytes of the old one in
/// nothing but the replaced values: both fit into an item, or both are numbers outside of the items
/// that take the same form. Numbers are never shared, so no other member has the same bytes.
package struct FleecePatch: ~Copyable {
  private var bytes: [UInt8]

  /// Begins a patch; nil unless `element` is the root of its body and a dictionary that inherits
  /// from no other.
  package init?(_ element: FleeceElement) throws(FleeceError) {
    bytes = element.body.bytes
    guard try element.isRoot, try element.isWithoutParent() else { return nil }
  }

  /// Replaces the value of a key, and returns whether that was possible. If not, nothing has
  /// changed.
  ///
  /// - Parameter value: a value of its own as Fleece, in canonical form.
  package mutating func replace(_ key: String, with value: [UInt8]) throws(FleeceError) -> Bool {
    guard let place = try place(of: key, for: value) else { return false }
    bytes.replaceSubrange(place, with: value[..<place.count])
    return true
  }

  /// Returns the whole body.
  package consuming func finish() -> [UInt8] { bytes }

  /// Returns where the bytes of a value are to be replaced by those of another, which are the first
  /// of `value`; nil if the layout would change.
  private func place(of key: String, for value: [UInt8]) throws(FleeceError) -> Range<Int>? {
    try bytes.withContents { (contents) throws(FleeceError) -> Range<Int>? in
      guard let items = try FleeceValue.root(of: contents).dictionary()?.items else { return nil }
      var key = key
      let found = key.withUTF8 { key in
        Result { () throws(FleeceError) in
          try FleeceDictionary.slot(of: UnsafeRawBufferPointer(key), in: items, from: 0)
        }
      }
      guard let slot = try found.get() else { return nil }
      let old = try items[slot]
      let offset = items.offset(of: slot)
      // A value that fits into an item is alone in its Fleece; others are followed by a pointer.
      if value.count == 2 { return old.offset == offset && !old.isUndefined ? offset..<offset + 2 : nil }
      let length = value.count - 2
      guard old.offset < items.first, value.first == old.firstByte,
        old.tag == .integer || old.tag == .float, length <= old.limit - old.offset
      else { return nil }
      return old.offset..<old.offset + length
    }
  }
}

extension FleeceElement {
  /// Returns whether this is a dictionary that inherits from no other.
  fileprivate func isWithoutParent() throws(FleeceError) -> Bool {
    try withValue { value throws(FleeceError) in
      guard let items = try value.dictionary()?.items else { return false }
      return try items.parent == nil
    }
  }
}
