extension DocumentRecord {
  /// Returns the bytes of the record. The tree must not be empty.
  package func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(24 + 24 * tree.nodes.count)
    bytes.append(DocumentRecord.format)
    var leaves = tree.nodes.indices.filter { tree.nodes[$0].isLeaf }
    if leaves.count > 1 { leaves.sort { RevisionTree.precedes(tree.nodes[$0], tree.nodes[$1]) } }
    let hasConflicts = leaves.count > 1 && !tree.nodes[leaves[1]].isDeleted
    bytes.append((hasConflicts ? Flag.hasConflicts : 0) | (expiry == nil ? 0 : Flag.expires))
    bytes.append(varint: sequence)
    if let expiry { bytes.append(varint: expiry) }
    var numbers = [Int](repeating: -1, count: tree.nodes.count)
    var count = 0
    for leaf in leaves {
      bytes.append(varint: tree.nodes[leaf].id.generation)
      var place = leaf
      while true {
        numbers[place] = count
        count += 1
        let parent = Int(tree.nodes[place].parent)
        let joined = parent < 0 ? -1 : numbers[parent]
        DocumentRecord.append(tree.nodes[place], isRoot: parent < 0, joined: joined, to: &bytes)
        if parent < 0 || joined >= 0 { break }
        place = parent
      }
    }
    return bytes
  }

  private static func append(
    _ node: RevisionTree.Node, isRoot: Bool, joined: Int, to bytes: inout [UInt8]
  ) {
    let digest = node.id.digest
    var flags: UInt8 = node.isDeleted ? NodeFlag.isDeleted : 0
    if node.body != 0 { flags |= NodeFlag.hasBody }
    if digest.count != RevisionDigest.usualCount { flags |= NodeFlag.hasLength }
    if isRoot { flags |= NodeFlag.isRoot }
    if joined >= 0 { flags |= NodeFlag.joins }
    bytes.append(flags)
    if flags & NodeFlag.hasLength != 0 { bytes.append(UInt8(digest.count)) }
    bytes.append(digest)
    if node.body != 0 { bytes.append(varint: node.body) }
    if joined >= 0 { bytes.append(varint: UInt64(joined)) }
  }
}
