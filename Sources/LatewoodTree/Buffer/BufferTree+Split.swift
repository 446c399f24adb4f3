import LatewoodBytes
import LatewoodFile

extension BufferTree {
  /// Splits a full leaf and inserts the new entry into one of the halves.
  mutating func split(
    _ leaf: BufferNode, inserting key: UnsafeRawPointer, _ keyCount: Int, _ reference: RecordReference,
    at index: Int, _ space: borrowing RecordSpace
  ) throws(Fault) {
    // An append leaves the old leaf full.
    let middle = index == leaf.count ? index : leaf.count / 2
    let right = slab.allocate(born: version, capacity: BufferNode.leafCapacity, isBranch: false)
    right.copyPrefix(of: leaf)
    right.copyEntries(of: leaf, middle, leaf.count, at: 0)
    right.count = leaf.count &- middle
    leaf.count = middle
    let target = index > middle || right.count == 0 ? right : leaf
    place(
      key, keyCount, reference, in: target, at: target.pointer == leaf.pointer ? index : index &- middle)
    try leaf.lengthenPrefixIfUseful(from: 0, space)
    try right.lengthenPrefixIfUseful(from: 0, space)
    try insertChild(right, separator: right.reference(0), space)
    // The path is stale now, and the finger's limit with it.
    finger = nil
  }

  /// Inserts a child after the one on the path, and splits full branches on the way up.
  private mutating func insertChild(
    _ newChild: BufferNode, separator newSeparator: RecordReference, _ space: borrowing RecordSpace
  ) throws(Fault) {
    var child = newChild
    var separator = newSeparator
    var depth = path.depth
    while depth > 0 {
      depth &-= 1
      let branch = BufferNode(path.nodes[depth])
      let index = path.indexes[depth] &+ 1
      if branch.count < branch.capacity {
        try attach(child, separator, in: branch, at: index, space)
        return
      }
      let middle = index == branch.count ? index &- 1 : branch.count / 2
      let right = slab.allocate(born: version, capacity: BufferNode.branchCapacity, isBranch: true)
      right.copyPrefix(of: branch)
      right.copyEntries(of: branch, middle, branch.count, at: 0)
      right.count = branch.count &- middle
      branch.count = middle
      let up = right.reference(0)
      if index > middle {
        try attach(child, separator, in: right, at: index &- middle, space)
      } else {
        try attach(child, separator, in: branch, at: index, space)
      }
      try branch.lengthenPrefixIfUseful(from: 1, space)
      try right.lengthenPrefixIfUseful(from: 1, space)
      child = right
      separator = up
    }
    guard let old = root else { return }
    let top = slab.allocate(born: version, capacity: BufferNode.branchCapacity, isBranch: true)
    top.children[0] = old
    top.heads[0] = 0
    top.references[0] = 0
    top.count = 1
    try attach(child, separator, in: top, at: 1, space)
    root = top.pointer
    path.depth = 0
  }

  private func attach(
    _ child: BufferNode, _ separator: RecordReference, in branch: BufferNode, at index: Int,
    _ space: borrowing RecordSpace
  ) throws(Fault) {
    let record = try space.record(separator)
    branch.fitPrefix(to: record.key, record.keyCount, from: 1)
    let tail = branch.count &- index
    if tail > 0 {
      (branch.heads + (index &+ 1)).update(from: branch.heads + index, count: tail)
      (branch.references + (index &+ 1)).update(from: branch.references + index, count: tail)
      (branch.children + (index &+ 1)).update(from: branch.children + index, count: tail)
      (branch.tails + (index &+ 1)).update(from: branch.tails + index, count: tail)
    }
    let skip = branch.prefixCount
    branch.setHead(index, record.key + skip, record.keyCount &- skip)
    branch.references[index] = separator.bits
    branch.children[index] = child.pointer
    branch.count &+= 1
  }
}
