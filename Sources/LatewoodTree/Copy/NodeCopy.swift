import LatewoodBytes
import LatewoodFile

/// A copy of a node in private memory, in which it was verified, so that later changes of the file
/// do not affect it.
///
/// Every reader that does not read nodes in place opens them here: copies and verifications of
/// trees, and the inspection tool.
package final class NodeCopy {
  package let reference: NodeReference
  /// The node, which is valid as long as this object exists.
  package let node: Node
  // SAFETY: freed in deinit; the owner of a pointer into it keeps this object.
  let memory: UnsafeMutableRawPointer

  var length: Int { Int(reference.length) }
  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: length) }

  /// Reads the node that `reference` refers to.
  ///
  /// - Parameters:
  ///   - level: the level that its parent implies; nil for any.
  ///   - minimumKeyLength: the minimum length of a key in a leaf.
  ///
  /// Throws `damaged` if the bytes are not that node, and errors of the device.
  package convenience init(
    _ reference: NodeReference, level: UInt8?, in file: some FileBytes,
    minimumKeyLength: Int = NodeLayout.minimumKeyLength
  ) throws(StorageError) {
    try reference.check(within: file.size)
    try self.init(reference, level, file.codec, minimumKeyLength) { (target) throws(StorageError) in
      try file.read(into: target, at: reference.offset)
    }
  }

  /// Copies a node from memory of the length in its reference.
  ///
  /// Throws `damaged` if the bytes are not that node.
  package convenience init(
    _ reference: NodeReference, at start: UnsafeRawPointer, codec: UnitCodec
  ) throws(StorageError) {
    try reference.check(within: .max)
    try self.init(reference, nil, codec, NodeLayout.minimumKeyLength) { target in
      target.copyMemory(from: UnsafeRawBufferPointer(start: start, count: target.count))
    }
  }

  private init(
    _ reference: NodeReference, _ level: UInt8?, _ codec: UnitCodec, _ minimumKeyLength: Int,
    fill: (UnsafeMutableRawBufferPointer) throws(StorageError) -> Void
  ) throws(StorageError) {
    let length = Int(reference.length)
    let memory = UnsafeMutableRawPointer.allocate(byteCount: length, alignment: NodeLayout.alignment)
    do throws(StorageError) {
      try fill(UnsafeMutableRawBufferPointer(start: memory, count: length))
      // SAFETY: the memory has the length in the reference, and lives as long as this object, which
      // owns the view.
      node = try NodeValidation(
        memory: memory, codec: codec, reference: reference, minimumKeyLength: minimumKeyLength
      ).open(level: level)
    } catch {
      memory.deallocate()
      throw error
    }
    self.reference = reference
    self.memory = memory
  }

  deinit { memory.deallocate() }
}
