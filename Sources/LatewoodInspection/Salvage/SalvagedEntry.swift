import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// An entry from a damaged file. A large value stays in the file until it is read.
struct SalvagedEntry {
  enum Value: Equatable {
    case inline([UInt8])
    case extent(ExtentReference)
  }

  /// The full key.
  var key: [UInt8]
  var value: Value

  init(key: [UInt8], value: Value) {
    self.key = key
    self.value = value
  }

  init(key: [UInt8], cell: BaseValue) {
    self.key = key
    value =
      cell.isExtent
      ? .extent(cell.extent)
      : .inline(Array(UnsafeRawBufferPointer(start: cell.pointer, count: cell.length)))
  }

  /// Returns the bytes of the value; nil if they are not in the file or do not match their
  /// checksum.
  func bytes(in file: UnitReader) throws(StorageError) -> [UInt8]? {
    switch value {
    case .inline(let bytes): return bytes
    case .extent(let reference):
      guard reference.isWithin(file.size) else { return nil }
      do throws(StorageError) { return try file.value(of: reference) } catch {
        if error.kind == .damaged { return nil }
        throw error
      }
    }
  }
}

extension NodeCopy {
  /// The entries of a leaf, in the order of the keys.
  var entries: [SalvagedEntry] {
    defer { withExtendedLifetime(self) {} }
    guard node.isLeaf else { return [] }
    return (0..<node.count).map { SalvagedEntry(key: node.key($0).bytes, cell: node.entry($0).value) }
  }
}
