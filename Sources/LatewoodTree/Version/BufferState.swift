/// The memory of one write buffer, freed with the last version that refers to it.
package final class BufferLayer: @unchecked Sendable {
  /// Accessed only by the writer; readers use the root in their version.
  let tree: UnsafeMutablePointer<BufferTree>
  var reclaim = BufferReclaim()

  package init() {
    tree = .allocate(capacity: 1)
    tree.initialize(to: BufferTree())
  }

  // SAFETY: no version still has a root in this tree.
  deinit {
    tree.deinitialize(count: 1)
    tree.deallocate()
  }

  /// The number of bytes of memory in use. For the writer only.
  package var memoryLength: Int { tree.pointee.slab.length }
}

/// The state of one write buffer: a root, the number of entries, and the deleted ranges.
package struct BufferState: @unchecked Sendable {
  // SAFETY: the root points into the slab of `layer`, at nodes that are not changed while a version
  // shows them.
  package let layer: BufferLayer
  package var root: UnsafeMutableRawPointer?
  package var entries: Int
  package var ranges: RangeTombstones

  package init(layer: BufferLayer = BufferLayer()) {
    self.layer = layer
    root = nil
    entries = 0
    ranges = RangeTombstones()
  }

  package var isEmpty: Bool { root == nil && ranges.isEmpty }
}
