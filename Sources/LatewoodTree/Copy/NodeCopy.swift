/// A copy of a node in private memory, in which it is verified, so that later changes of the file
/// do not affect it.
final class NodeCopy {
  // SAFETY: freed in deinit; the owner of a pointer into it keeps this object.
  let memory: UnsafeMutableRawPointer
  let length: Int

  init(length: Int) {
    self.length = length
    memory = .allocate(byteCount: length, alignment: NodeLayout.alignment)
  }

  deinit { memory.deallocate() }

  /// The node. Only valid after verification.
  var node: Node { Node(validated: memory) }
}
