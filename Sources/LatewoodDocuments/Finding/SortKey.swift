import LatewoodQuery

/// The id of a document and the key that it is sorted by, if any.
struct SortKey: SortedEntry {
  var key: [UInt8] = []
  let id: String

  var byteCount: Int { MemoryLayout<SortKey>.stride + key.count + id.utf8.count + 32 }

  static func precedes(_ left: SortKey, _ right: SortKey) -> Bool {
    left.key == right.key ? isLess(left.id, right.id) : left.key.lexicographicallyPrecedes(right.key)
  }

  static func isLess(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }
}
