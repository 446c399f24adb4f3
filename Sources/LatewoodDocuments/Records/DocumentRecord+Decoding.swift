extension DocumentRecord.Head {
  /// Reads the first bytes of a record.
  ///
  /// - Throws: ``DocumentError`` `corruptRevisions`.
  package init(_ bytes: UnsafeRawBufferPointer) throws(DocumentError) {
    var source = try DocumentRecord.source(bytes)
    self = try source.head().head
  }
}

extension DocumentRecord {
  /// Reads a whole record. O(revisions).
  ///
  /// - Throws: ``DocumentError`` `corruptRevisions` if the bytes are not what ``encoded()`` gives
  ///   for some record.
  package init(_ bytes: UnsafeRawBufferPointer) throws(DocumentError) {
    var source = try DocumentRecord.source(bytes)
    var start = source
    let head = try source.head().head
    try start.skipFacts()
    sequence = head.sequence
    expiry = head.expiry
    body = head.body(in: bytes).map { Array($0) }
    tree = RevisionTree()
    tree.nodes.reserveCapacity(min(64, start.count / 22 + 1))
    repeat { try start.branch(into: &tree) } while !start.isAtEnd
    if body != nil {
      for node in tree.nodes where node.body == sequence {
        throw start.fault("another revision has its body at the place of the winner's")
      }
      tree.nodes[0].body = sequence
    }
    try check(head, start)
  }

  static func source(_ bytes: UnsafeRawBufferPointer) throws(DocumentError) -> UntrustedBytes {
    guard let source = UntrustedBytes(bytes, what: "the record of a document", code: .corruptRevisions) else {
      throw DocumentError(.corruptRevisions, "the record of a document is empty")
    }
    return source
  }

  private func check(_ head: Head, _ source: UntrustedBytes) throws(DocumentError) {
    // The generations of one branch differ.
    if tree.nodes.count(where: \.isLeaf) > 1 {
      var seen = Set<RevisionID>(minimumCapacity: tree.nodes.count)
      for node in tree.nodes where !seen.insert(node.id).inserted {
        throw source.fault("the revision \(node.id) comes twice")
      }
    }
    guard tree.winner?.id == head.winner else { throw source.fault("its winner is not the first") }
    let others = tree.nodes.count { $0.isLeaf && !$0.isDeleted && $0.id != head.winner }
    guard head.hasConflicts == (others > 0 && !head.isDeleted) else {
      throw source.fault("it does not say rightly whether there are conflicts")
    }
  }
}

extension UntrustedBytes {
  fileprivate typealias NodeFlag = DocumentRecord.NodeFlag

  /// Reads everything before the branches, and the winner.
  fileprivate mutating func head() throws(DocumentError) -> (head: DocumentRecord.Head, flags: UInt8) {
    let (flags, sequence, expiry, bodyLength) = try facts()
    let generation = try generation()
    var (node, nodeFlags) = try node(generation)
    if bodyLength > 0 {
      guard nodeFlags & NodeFlag.hasBody == 0, sequence > 0 else {
        throw fault("the body of the winner is in two places")
      }
      node.body = sequence
    }
    let head = DocumentRecord.Head(
      sequence: sequence, expiry: expiry, winner: node.id, isDeleted: node.isDeleted, body: node.body,
      hasConflicts: flags & DocumentRecord.Flag.hasConflicts != 0, bodyLength: bodyLength)
    return (head, nodeFlags)
  }

  fileprivate mutating func skipFacts() throws(DocumentError) { _ = try facts() }

  /// Reads everything before the branches, and leaves out the body behind them.
  private mutating func facts() throws(DocumentError) -> (
    UInt8, sequence: UInt64, expiry: UInt64?, bodyLength: Int
  ) {
    let format = try byte()
    guard format == DocumentRecord.format else { throw fault("its format is \(format)") }
    let flags = try byte()
    guard flags & ~DocumentRecord.Flag.all == 0 else { throw fault("its flags are \(flags)") }
    let sequence = try varint()
    let expiry = flags & DocumentRecord.Flag.expires == 0 ? nil : try varint()
    guard flags & DocumentRecord.Flag.holdsBody != 0 else { return (flags, sequence, expiry, 0) }
    let length = try varint()
    guard length > 0 else { throw fault("its body is empty") }
    return (flags, sequence, expiry, try leaveOut(last: length))
  }

  private mutating func node(
    _ generation: UInt64
  ) throws(DocumentError) -> (node: RevisionTree.Node, flags: UInt8) {
    let flags = try byte()
    guard flags & ~NodeFlag.all == 0, flags & NodeFlag.isRoot == 0 || flags & NodeFlag.joins == 0 else {
      throw fault("the flags of a revision are \(flags)")
    }
    var count = RevisionDigest.usualCount
    if flags & NodeFlag.hasLength != 0 {
      count = Int(try byte())
      if count == RevisionDigest.usualCount { throw fault("a length is given that need not be") }
    }
    let digest = flags & NodeFlag.isText == 0 ? try digest(count) : try textDigest(count)
    let body = flags & NodeFlag.hasBody == 0 ? 0 : try varint()
    if flags & NodeFlag.hasBody != 0, body == 0 { throw fault("a body is nowhere") }
    let node = RevisionTree.Node(
      id: RevisionID(generation: generation, digest: digest), parent: -1, isLeaf: false,
      isDeleted: flags & NodeFlag.isDeleted != 0, body: body)
    return (node, flags)
  }

  fileprivate mutating func branch(into tree: inout RevisionTree) throws(DocumentError) {
    var generation = try generation()
    var isLeaf = true
    while true {
      var (node, flags) = try node(generation)
      node.isLeaf = isLeaf
      let place = tree.nodes.count
      if flags & NodeFlag.joins != 0 {
        let parent = try varint()
        // The parent must be in an earlier branch, so not among these nodes; and a leaf has no
        // children.
        guard parent < UInt64(place), case let other = tree.nodes[Int(parent)], !other.isLeaf,
          other.id.generation == generation - 1
        else { throw fault("a branch joins what it cannot") }
        node.parent = Int32(parent)
      } else if flags & NodeFlag.isRoot == 0 {
        guard generation > 1, place < Int(Int32.max) - 1 else { throw fault("a first revision has a parent") }
        node.parent = Int32(place + 1)
      }
      tree.nodes.append(node)
      if flags & (NodeFlag.joins | NodeFlag.isRoot) != 0 { return }
      generation -= 1
      isLeaf = false
    }
  }
}
