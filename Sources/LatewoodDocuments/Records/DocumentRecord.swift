/// The stored record of a document: its position in the feed, its expiry, its revisions, and the
/// body of the winner if that is short.
///
/// ```
/// format 1 byte | flags 1 byte | sequence varint | expiry varint, if flagged |
///          length of the body varint, if flagged | branch | branch | ... | body, if flagged
/// branch   generation of its leaf, varint | the leaf | its parent | ...
/// revision flags 1 byte | digest length 1 byte, if flagged, else 20 | digest |
///          sequence of its body varint, if flagged |
///          number of the revision that this one follows from, varint, if it is in a branch before
/// ```
///
/// The branch of the winner is stored first, so that the first bytes describe it. A branch ends
/// with a root, or with a revision whose parent is part of an earlier branch. Revisions are
/// numbered from 0 in the order in which they are stored.
///
/// A short body is stored in the record while its revision is both the winner and the latest change
/// of the document. It is then addressed by the sequence of the record, through which the feed
/// finds the document. The next change moves it to the keyspace of bodies.
package struct DocumentRecord: Sendable, Equatable {
  /// The sequence of its last change in the feed of its collection.
  package var sequence: UInt64
  /// The time at which the document expires, in seconds since 1970-01-01 00:00 UTC; nil for never
  /// and for a deleted document.
  package var expiry: UInt64?
  package var tree: RevisionTree
  /// The body of the winner if it is in the record; its sequence is then `sequence`. Not empty.
  package var body: [UInt8]?

  package init(sequence: UInt64, expiry: UInt64? = nil, tree: RevisionTree, body: [UInt8]? = nil) {
    self.sequence = sequence
    self.expiry = expiry
    self.tree = tree
    self.body = body
  }

  /// The maximum length, in bytes, of a body in a record. With the usual number of revisions, the
  /// record is still short enough to be copied into the tree.
  package static let bodyLimit = 1024

  /// The contents of the first bytes of a record, which are sufficient for most reads.
  package struct Head: Sendable, Equatable {
    package var sequence: UInt64
    package var expiry: UInt64?
    package var winner: RevisionID
    package var isDeleted: Bool
    /// The sequence of the winner's body; 0 if it has no body here.
    package var body: UInt64
    /// Whether there are undeleted leaves other than the winner.
    package var hasConflicts: Bool
    /// The length, in bytes, of the winner's body if it is at the end of the record; otherwise 0.
    package var bodyLength = 0

    /// Returns the winner's body if it is in the record.
    ///
    /// - Parameter record: the record to which this head belongs.
    @inline(__always) func body(in record: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
      guard bodyLength > 0, bodyLength <= record.count else { return nil }
      return UnsafeRawBufferPointer(rebasing: record[(record.count &- bodyLength)...])
    }

    func isExpired(at now: @autoclosure () -> UInt64) -> Bool {
      guard let expiry, !isDeleted else { return false }
      return expiry <= now()
    }
  }

  /// Whether the document has expired at a time, in seconds since 1970. A tombstone never expires,
  /// because it must be replicated.
  func isExpired(at now: @autoclosure () -> UInt64) -> Bool {
    guard let expiry, expiry <= now() else { return false }
    return tree.winner?.isDeleted == false
  }

  static let format: UInt8 = 1

  /// On disk: never renumbered.
  enum Flag {
    static let hasConflicts: UInt8 = 1
    static let expires: UInt8 = 2
    /// The body of the winner is at the end of the record.
    static let holdsBody: UInt8 = 4
    static let all: UInt8 = 7
  }

  /// The flags of a revision. On disk: never renumbered.
  enum NodeFlag {
    static let isDeleted: UInt8 = 1
    static let hasBody: UInt8 = 2
    /// The length of the digest follows, because it is not 20.
    static let hasLength: UInt8 = 4
    /// The branch ends here: the parent is not known or no longer kept.
    static let isRoot: UInt8 = 8
    /// The branch ends here: the number of the parent follows.
    static let joins: UInt8 = 16
    /// The digest is a text.
    static let isText: UInt8 = 32
    static let all: UInt8 = 63
  }
}

// MARK: - Encoding

extension DocumentRecord {
  /// Returns the bytes of the record. Requires a nonempty tree.
  package func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return bytes
  }

  /// Appends the bytes of the record. Requires a nonempty tree.
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

  private func appendFacts(hasConflicts: Bool, to bytes: inout [UInt8]) {
    DocumentRecord.appendFacts(
      hasConflicts: hasConflicts, sequence: sequence, expiry: expiry, bodyLength: body?.count ?? 0, to: &bytes
    )
  }

  /// Appends everything before the branches.
  ///
  /// - Parameter bodyLength: the length of the body in the record; 0 if there is none.
  @inline(__always) static func appendFacts(
    hasConflicts: Bool, sequence: UInt64, expiry: UInt64?, bodyLength: Int, to bytes: inout [UInt8]
  ) {
    bytes.append(format)
    bytes.append(
      (hasConflicts ? Flag.hasConflicts : 0) | (expiry == nil ? 0 : Flag.expires)
        | (bodyLength == 0 ? 0 : Flag.holdsBody))
    bytes.append(varint: sequence)
    if let expiry { bytes.append(varint: expiry) }
    if bodyLength > 0 { bytes.append(varint: UInt64(bodyLength)) }
  }

  /// Appends a history without conflicts, the usual case.
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
    // The body in the record belongs to the revision that has its body at the sequence.
    DocumentRecord.append(
      node.id.digest, isDeleted: node.isDeleted, body: body != nil && node.body == sequence ? 0 : node.body,
      isRoot: isRoot, joined: joined, to: &bytes)
  }

  /// Appends a revision.
  ///
  /// - Parameters:
  ///   - body: the sequence of its body; 0 if there is no body, or the record contains it.
  ///   - joined: the number of its parent if that is in an earlier branch; otherwise -1.
  @inline(__always) static func append(
    _ digest: RevisionDigest, isDeleted: Bool, body: UInt64, isRoot: Bool, joined: Int = -1,
    to bytes: inout [UInt8]
  ) {
    var flags: UInt8 = isDeleted ? NodeFlag.isDeleted : 0
    if body != 0 { flags |= NodeFlag.hasBody }
    if digest.count != RevisionDigest.usualCount { flags |= NodeFlag.hasLength }
    if digest.isText { flags |= NodeFlag.isText }
    if isRoot { flags |= NodeFlag.isRoot }
    if joined >= 0 { flags |= NodeFlag.joins }
    bytes.append(flags)
    if flags & NodeFlag.hasLength != 0 { bytes.append(UInt8(digest.count)) }
    bytes.append(digest)
    if body != 0 { bytes.append(varint: body) }
    if joined >= 0 { bytes.append(varint: UInt64(joined)) }
  }
}

// MARK: - Decoding

extension DocumentRecord.Head {
  /// Reads the first bytes of a record.
  ///
  /// - Throws: ``DatabaseError`` `corruptRevisionData`.
  package init(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
    var source = try DocumentRecord.source(bytes)
    self = try source.head().head
  }
}

extension DocumentRecord {
  /// Reads a whole record. O(revisions).
  ///
  /// - Throws: ``DatabaseError`` `corruptRevisionData` if the bytes are not the result of
  ///   ``encoded()`` for some record.
  package init(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
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
        throw start.damaged("another revision has its body at the place of the winner's")
      }
      tree.nodes[0].body = sequence
    }
    try check(head, start)
  }

  @inline(__always) static func source(
    _ bytes: UnsafeRawBufferPointer
  ) throws(DatabaseError) -> UntrustedBytes {
    guard let source = UntrustedBytes(bytes, what: "the record of a document", code: .corruptRevisionData)
    else {
      throw DatabaseError(.corruptRevisionData, "the record of a document is empty")
    }
    return source
  }

  private func check(_ head: Head, _ source: UntrustedBytes) throws(DatabaseError) {
    // The generations of one branch differ.
    if tree.nodes.count(where: \.isLeaf) > 1 {
      var seen = Set<RevisionID>(minimumCapacity: tree.nodes.count)
      for node in tree.nodes where !seen.insert(node.id).inserted {
        throw source.damaged("the revision \(node.id) comes twice")
      }
    }
    guard tree.winner?.id == head.winner else { throw source.damaged("its winner is not the first") }
    let others = tree.nodes.count { $0.isLeaf && !$0.isDeleted && $0.id != head.winner }
    guard head.hasConflicts == (others > 0 && !head.isDeleted) else {
      throw source.damaged("its conflict flag is wrong")
    }
  }
}

extension UntrustedBytes {
  fileprivate typealias NodeFlag = DocumentRecord.NodeFlag

  /// Reads everything before the branches, and the winner.
  mutating func head() throws(DatabaseError) -> (head: DocumentRecord.Head, flags: UInt8) {
    let (flags, sequence, expiry, bodyLength) = try facts()
    let generation = try generation()
    var (node, nodeFlags) = try node(generation)
    if bodyLength > 0 {
      guard nodeFlags & NodeFlag.hasBody == 0, sequence > 0 else {
        throw damaged("the body of the winner is in two places")
      }
      node.body = sequence
    }
    let head = DocumentRecord.Head(
      sequence: sequence, expiry: expiry, winner: node.id, isDeleted: node.isDeleted, body: node.body,
      hasConflicts: flags & DocumentRecord.Flag.hasConflicts != 0, bodyLength: bodyLength)
    return (head, nodeFlags)
  }

  fileprivate mutating func skipFacts() throws(DatabaseError) { _ = try facts() }

  /// Reads everything before the branches, and excludes the body behind them.
  private mutating func facts() throws(DatabaseError) -> (
    UInt8, sequence: UInt64, expiry: UInt64?, bodyLength: Int
  ) {
    let format = try byte()
    guard format == DocumentRecord.format else { throw damaged("its format is \(format)") }
    let flags = try byte()
    guard flags & ~DocumentRecord.Flag.all == 0 else { throw damaged("its flags are \(flags)") }
    let sequence = try varint()
    let expiry = flags & DocumentRecord.Flag.expires == 0 ? nil : try varint()
    guard flags & DocumentRecord.Flag.holdsBody != 0 else { return (flags, sequence, expiry, 0) }
    let length = try varint()
    guard length > 0 else { throw damaged("its body is empty") }
    return (flags, sequence, expiry, try dropLast(length))
  }

  private mutating func node(
    _ generation: UInt64
  ) throws(DatabaseError) -> (node: RevisionTree.Node, flags: UInt8) {
    let flags = try byte()
    guard flags & ~NodeFlag.all == 0, flags & NodeFlag.isRoot == 0 || flags & NodeFlag.joins == 0 else {
      throw damaged("the flags of a revision are \(flags)")
    }
    var count = RevisionDigest.usualCount
    if flags & NodeFlag.hasLength != 0 {
      count = Int(try byte())
      if count == RevisionDigest.usualCount { throw damaged("a usual digest length is stored explicitly") }
    }
    let digest = flags & NodeFlag.isText == 0 ? try digest(count) : try textDigest(count)
    let body = flags & NodeFlag.hasBody == 0 ? 0 : try varint()
    if flags & NodeFlag.hasBody != 0, body == 0 { throw damaged("a body has place 0") }
    let node = RevisionTree.Node(
      id: RevisionID(generation: generation, digest: digest), parent: -1, isLeaf: false,
      isDeleted: flags & NodeFlag.isDeleted != 0, body: body)
    return (node, flags)
  }

  @inline(never) private mutating func skipUnusualDigest(isText: Bool) throws(DatabaseError) {
    let count = Int(try byte())
    if count == RevisionDigest.usualCount { throw damaged("a usual digest length is stored explicitly") }
    if isText {
      _ = try textDigest(count)
    } else {
      guard count >= 1, count <= RevisionDigest.maximumCount else {
        throw damaged("a digest has \(count) bytes")
      }
      _ = try bytes(count)
    }
  }

  /// Reads a revision without its contents. Returns its flags.
  @inline(__always) mutating func skipRevision() throws(DatabaseError) -> UInt8 {
    let flags = try byte()
    guard flags & ~NodeFlag.all == 0 else { throw damaged("the flags of a revision are \(flags)") }
    if flags & NodeFlag.hasLength == 0 {
      _ = try bytes(RevisionDigest.usualCount)
    } else {
      try skipUnusualDigest(isText: flags & NodeFlag.isText != 0)
    }
    if flags & NodeFlag.hasBody != 0, try varint() == 0 { throw damaged("a body has place 0") }
    return flags
  }

  fileprivate mutating func branch(into tree: inout RevisionTree) throws(DatabaseError) {
    var generation = try generation()
    var isLeaf = true
    while true {
      var (node, flags) = try node(generation)
      node.isLeaf = isLeaf
      let place = tree.nodes.count
      if flags & NodeFlag.joins != 0 {
        let parent = try varint()
        // The parent must be in an earlier branch, so it is not among these nodes. It cannot be a
        // leaf, because leaves have no children.
        guard parent < UInt64(place), case let other = tree.nodes[Int(parent)], !other.isLeaf,
          other.id.generation == generation - 1
        else { throw damaged("a branch has an invalid parent") }
        node.parent = Int32(parent)
      } else if flags & NodeFlag.isRoot == 0 {
        guard generation > 1, place < Int(Int32.max) - 1 else {
          throw damaged("a first revision has a parent")
        }
        node.parent = Int32(place + 1)
      }
      tree.nodes.append(node)
      if flags & (NodeFlag.joins | NodeFlag.isRoot) != 0 { return }
      generation -= 1
      isLeaf = false
    }
  }
}
