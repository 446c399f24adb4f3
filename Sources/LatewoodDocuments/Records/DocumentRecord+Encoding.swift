extension DocumentRecord {
  /// Returns the bytes of the record. The tree must not be empty.
  package func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return bytes
  }

  /// Appends the bytes of the record. The tree must not be empty.
  func append(to bytes: inout [UInt8]) {
    bytes.reserveCapacity(bytes.count + 32 + 24 * tree.nodes.count + (body?.count ?? 0))
    var leaf = -1
    var hasOneLeaf = true
    for index in tree.nodes.indices where tree.nodes[index].isLeaf {
      if leaf >= 0 { hasOneLeaf = false }
      leaf = index
    }
    if hasOneLeaf {
      appendFacts(hasConflicts: false, to: &bytes)
      if leaf >= 0 { appendOnlyBranch(of: leaf, to: &bytes) }
    } else {
      appendBranches(to: &bytes)
    }
    if let body { bytes.append(contentsOf: body) }
  }

  /// Appends everything before the branches.
  private func appendFacts(hasConflicts: Bool, to bytes: inout [UInt8]) {
    bytes.append(DocumentRecord.format)
    bytes.append(
      (hasConflicts ? Flag.hasConflicts : 0) | (expiry == nil ? 0 : Flag.expires)
        | (body == nil ? 0 : Flag.holdsBody))
    bytes.append(varint: sequence)
    if let expiry { bytes.append(varint: expiry) }
    if let body { bytes.append(varint: UInt64(body.count)) }
  }

  /// Appends a history without conflicts, as most are.
  private func appendOnlyBranch(of leaf: Int, to bytes: inout [UInt8]) {
    bytes.append(varint: tree.nodes[leaf].id.generation)
    var place = leaf
    while place >= 0 {
      let parent = Int(tree.nodes[place].parent)
      append(tree.nodes[place], isRoot: parent < 0, joined: -1, to: &bytes)
      place = parent
    }
  }

  private func appendBranches(to bytes: inout [UInt8]) {
    var leaves = tree.nodes.indices.filter { tree.nodes[$0].isLeaf }
    leaves.sort { RevisionTree.precedes(tree.nodes[$0], tree.nodes[$1]) }
    appendFacts(hasConflicts: !tree.nodes[leaves[1]].isDeleted, to: &bytes)
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
        append(tree.nodes[place], isRoot: parent < 0, joined: joined, to: &bytes)
        if parent < 0 || joined >= 0 { break }
        place = parent
      }
    }
  }

  private func append(
    _ node: RevisionTree.Node, isRoot: Bool, joined: Int, to bytes: inout [UInt8]
  ) {
    let digest = node.id.digest
    var flags: UInt8 = node.isDeleted ? NodeFlag.isDeleted : 0
    // The body in the record belongs to the revision that has its body at the sequence.
    let place = body != nil && node.body == sequence ? 0 : node.body
    if place != 0 { flags |= NodeFlag.hasBody }
    if digest.count != RevisionDigest.usualCount { flags |= NodeFlag.hasLength }
    if digest.isText { flags |= NodeFlag.isText }
    if isRoot { flags |= NodeFlag.isRoot }
    if joined >= 0 { flags |= NodeFlag.joins }
    bytes.append(flags)
    if flags & NodeFlag.hasLength != 0 { bytes.append(UInt8(digest.count)) }
    bytes.append(digest)
    if place != 0 { bytes.append(varint: place) }
    if joined >= 0 { bytes.append(varint: UInt64(joined)) }
  }
}
