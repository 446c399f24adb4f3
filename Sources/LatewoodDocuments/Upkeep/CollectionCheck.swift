import LatewoodStore

/// One verification of one collection. Every key that a record asks for is looked for; that there are no others is seen from the counts.
struct CollectionCheck {
  let name: String
  let spaces: CollectionSpaces
  let source: Snapshot
  let shared: DatabaseSpaces
  var report: DocumentVerifyReport
  /// What the records ask for.
  private var wanted = CollectionState()
  private var conflicts = 0
  private var expiring = 0
  private var leafBodies: UInt64 = 0

  init(
    _ name: String, _ spaces: CollectionSpaces, _ source: Snapshot, _ shared: DatabaseSpaces,
    _ report: DocumentVerifyReport
  ) {
    self.name = name
    self.spaces = spaces
    self.source = source
    self.shared = shared
    self.report = report
  }

  mutating func run() throws {
    let state = try state()
    wanted.lastSequence = state.lastSequence
    try source.forEach(in: spaces.documents) { key, value in
      let id = key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      do throws(DocumentError) {
        let record = try value.reading { (bytes) throws(DocumentError) in try DocumentRecord(bytes) }
        do { try check(id, record) } catch { throw DocumentError.from(error) }
      } catch { report.add("\(name)/\(id): \(error.message)") }
      return true
    }
    try checkBodies()
    try checkReferences()
    try checkCounts()
    report.require(state == wanted, "\(name): it counts \(state), and there is \(wanted)")
    report.documents += Int(clamping: wanted.documents)
    report.bodies += Int(clamping: wanted.bodies)
  }

  private mutating func state() throws -> CollectionState {
    let state = try source.withValue(CollectionState.key(name), in: shared.database) { value in
      try value.reading { (bytes) throws(DocumentError) in try CollectionState(bytes) }
    }
    return state ?? CollectionState()
  }

  private mutating func check(_ id: String, _ record: DocumentRecord) throws {
    guard let head = record.head else { return }
    if head.isDeleted { wanted.tombstones += 1 } else { wanted.documents += 1 }
    report.require(
      record.sequence > 0 && record.sequence <= wanted.lastSequence,
      "\(name)/\(id) is at the sequence \(record.sequence), the last one is \(wanted.lastSequence)")
    let entry = SequenceEntry(sequence: record.sequence, id: id, head: head)
    let isListed = try source.get(SequenceEntry.key(record.sequence), in: spaces.sequences) == entry.encoded()
    report.require(isListed, "\(name)/\(id) is not in the feed at \(record.sequence) as it is")
    for node in record.tree.nodes where node.isLeaf && node.body != 0 {
      leafBodies += 1
      let key = SequenceEntry.key(node.body)
      report.require(
        try source.contains(key, in: spaces.bodies), "\(name)/\(id): the body of \(node.id) is missing")
      report.require(
        try !source.contains(key, in: spaces.superseded),
        "\(name)/\(id): the body of \(node.id) would be swept")
    }
    try checkIndexes(id, head)
  }

  private mutating func checkIndexes(_ id: String, _ head: DocumentRecord.Head) throws {
    let tombstone = CollectionSpaces.key(CollectionSpaces.Mark.tombstone, id)
    let conflict = CollectionSpaces.key(CollectionSpaces.Mark.conflict, id)
    report.require(
      try source.contains(tombstone, in: spaces.marks) == head.isDeleted, "\(name)/\(id) is marked wrongly")
    report.require(
      try source.contains(conflict, in: spaces.marks) == head.hasConflicts, "\(name)/\(id) is marked wrongly")
    if head.hasConflicts { conflicts += 1 }
    guard let expiry = head.expiry else { return }
    expiring += 1
    report.require(
      try source.contains(CollectionSpaces.expiryKey(expiry, id), in: spaces.expiry),
      "\(name)/\(id) expires at \(expiry), and nothing will see to it")
  }

  private mutating func checkBodies() throws {
    try source.forEach(in: spaces.superseded) { key, _ in
      wanted.superseded += 1
      let sequence = key.withUnsafeBytes { Array($0) }
      report.require(
        try source.contains(sequence, in: spaces.bodies),
        "\(name): the superseded body \(sequence) is missing")
      return true
    }
    try source.forEach(in: spaces.bodies) { key, value in
      wanted.bodies += 1
      wanted.bodyBytes += UInt64(value.byteCount)
      return true
    }
    report.require(
      wanted.bodies == leafBodies + wanted.superseded,
      "\(name): there are \(wanted.bodies) bodies, \(leafBodies) of leaves and \(wanted.superseded) superseded"
    )
  }

  private mutating func checkReferences() throws {
    try source.forEach(in: spaces.references) { key, _ in
      wanted.references += 1
      let bytes = key.withUnsafeBytes { Array($0) }
      let (sequence, digest) = (Array(bytes.prefix(8)), Array(bytes.dropFirst(8)))
      report.require(
        try source.contains(sequence, in: spaces.bodies), "\(name): a blob is referred to by no body")
      guard let blob = BlobDigest(digest) else {
        report.add("\(name): a reference names a blob with \(digest.count) bytes")
        return true
      }
      report.require(try source.contains(digest, in: shared.blobs), "\(name): the blob \(blob) is missing")
      report.require(
        try source.contains(digest + sequence, in: spaces.uses),
        "\(name): a use of the blob \(blob) is not listed")
      return true
    }
  }

  private mutating func checkCounts() throws {
    func require(_ keyspace: Keyspace, _ count: Int, _ what: String) throws {
      let found = try source.count(in: keyspace)
      report.require(found == count, "\(name): \(found) \(what) instead of \(count)")
    }
    let documents = Int(clamping: wanted.documents + wanted.tombstones)
    try require(spaces.documents, documents, "documents")
    try require(spaces.sequences, documents, "entries in the feed")
    try require(spaces.marks, Int(clamping: wanted.tombstones) + conflicts, "marks")
    try require(spaces.expiry, expiring, "times of expiry")
    try require(spaces.uses, Int(clamping: wanted.references), "uses of blobs")
  }
}
