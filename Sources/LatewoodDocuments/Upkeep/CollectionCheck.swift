import LatewoodStore

/// The verification of one collection. Looks up every key that a record requires. The counts then
/// show that there are no other keys.
struct CollectionCheck {
  let name: String
  let spaces: CollectionSpaces
  let source: Snapshot
  let shared: DatabaseSpaces
  var report: DocumentVerification
  /// The greatest depth that a tree may have; nil if the check is not deep.
  var deepest: Int?
  /// The state that the records add up to.
  var wanted: CollectionState
  private var conflicts = 0
  private var expiring = 0
  private var leafBodies: UInt64 = 0

  init(
    _ name: String, _ spaces: CollectionSpaces, _ source: Snapshot, _ shared: DatabaseSpaces,
    _ report: DocumentVerification
  ) {
    self.name = name
    self.spaces = spaces
    self.source = source
    self.shared = shared
    self.report = report
    wanted = CollectionState(CollectionIdentity(random: { 0 }))
  }

  mutating func run() throws {
    var state = wanted
    do throws(DocumentError) {
      state = try DatabaseRecords.state(of: name, in: shared, source) ?? wanted
    } catch {
      // Everything else can still be checked.
      report.add(DocumentFault(error.message, collection: name))
    }
    wanted = CollectionState(state.identity)
    wanted.lastSequence = state.lastSequence
    wanted.indexChanges = state.indexChanges
    try source.forEach(in: spaces.documents) { key, value in
      let id = key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      do throws(DocumentError) {
        let record = try value.reading { (bytes) throws(DocumentError) in try DocumentRecord(bytes) }
        try DocumentError.typed {
          try check(id, record)
          if let deepest { try checkDeeply(id, record, value.reading { Array($0) }, deepest) }
        }
      } catch { report.add(DocumentFault(error.message, collection: name, document: id)) }
      return true
    }
    try checkBodies()
    try checkReferences()
    try checkIndexes()
    try checkViews()
    if deepest != nil {
      try checkFeed()
      try checkOtherBodies()
    }
    try checkCounts()
    report.require(
      state == wanted, DocumentFault("it counts \(state), and there is \(wanted)", collection: name))
    report.documents += Int(clamping: wanted.documents)
    report.bodies += Int(clamping: wanted.bodies)
  }

  private mutating func check(_ id: String, _ record: DocumentRecord) throws {
    guard let head = record.head else { return }
    if head.isDeleted { wanted.tombstones += 1 } else { wanted.documents += 1 }
    func fault(_ what: String, _ revision: RevisionID? = nil) -> DocumentFault {
      DocumentFault(what, collection: name, document: id, revision: revision)
    }
    report.require(
      record.sequence > 0 && record.sequence <= wanted.lastSequence,
      fault("it is at the sequence \(record.sequence), and the last one is \(wanted.lastSequence)"))
    let entry = SequenceEntry(sequence: record.sequence, id: id, head: head)
    let isListed = try source.get(SequenceEntry.key(record.sequence), in: spaces.sequences) == entry.encoded()
    report.require(isListed, fault("its entry in the feed at \(record.sequence) is missing or differs"))
    for node in record.tree.nodes where node.isLeaf && node.body != 0 {
      leafBodies += 1
      let key = SequenceEntry.key(node.body)
      if let body = record.body, node.body == record.sequence {
        wanted.bodies += 1
        wanted.bodyBytes += UInt64(body.count)
      } else {
        report.require(try source.contains(key, in: spaces.bodies), fault("its body is missing", node.id))
      }
      report.require(
        try !source.contains(key, in: spaces.superseded), fault("its body would be swept", node.id))
    }
    let tombstone = CollectionSpaces.key(CollectionSpaces.Mark.tombstone, id)
    let conflict = CollectionSpaces.key(CollectionSpaces.Mark.conflict, id)
    report.require(
      try source.contains(tombstone, in: spaces.marks) == head.isDeleted,
      fault("it is \(head.isDeleted ? "" : "not ")deleted, and its mark says otherwise"))
    report.require(
      try source.contains(conflict, in: spaces.marks) == head.hasConflicts,
      fault("it is \(head.hasConflicts ? "" : "not ")in conflict, and its mark says otherwise"))
    if head.hasConflicts { conflicts += 1 }
    guard let expiry = head.expiry else { return }
    expiring += 1
    report.require(!head.isDeleted, fault("it is deleted, and expires at \(expiry)"))
    report.require(
      try source.contains(CollectionSpaces.expiryKey(expiry, id), in: spaces.expiry),
      fault("it expires at \(expiry), and nothing will see to it"))
  }

  private mutating func checkBodies() throws {
    try source.forEach(in: spaces.superseded) { key, _ in
      wanted.superseded += 1
      let bytes = key.withUnsafeBytes { Array($0) }
      report.require(
        try source.contains(bytes, in: spaces.bodies),
        DocumentFault("a superseded body is missing", collection: name, sequence: Self.number(bytes)))
      return true
    }
    try source.forEach(in: spaces.bodies) { key, value in
      wanted.bodies += 1
      wanted.bodyBytes += UInt64(value.byteCount)
      return true
    }
    report.require(
      wanted.bodies == leafBodies + wanted.superseded,
      DocumentFault(
        "there are \(wanted.bodies) bodies, \(leafBodies) of leaves and \(wanted.superseded) superseded",
        collection: name))
  }

  private mutating func checkReferences() throws {
    try source.forEach(in: spaces.references) { key, _ in
      wanted.references += 1
      let bytes = key.withUnsafeBytes { Array($0) }
      // In the key of a local document, the sequence is 0 and the name precedes the digest.
      let owner = Array(
        bytes.prefix(bytes.starts(with: LocalReference.sequence) ? max(8, bytes.count - 32) : 8))
      let (sequence, document) = (Array(owner.prefix(8)), Array(owner.dropFirst(8)))
      let digest = Array(bytes.dropFirst(owner.count))
      let blob = BlobDigest(digest)
      func fault(_ what: String) -> DocumentFault {
        DocumentFault(
          what, collection: name,
          document: document.isEmpty ? nil : String(decoding: document, as: UTF8.self),
          sequence: document.isEmpty ? Self.number(sequence) : nil, blob: blob)
      }
      let isThere =
        try document.isEmpty
        ? source.hasBody(at: Self.number(sequence) ?? 0, of: spaces)
        : source.contains(document, in: spaces.local)
      report.require(isThere, fault("the body that refers to it is missing"))
      guard blob != nil else {
        report.add(fault("a reference names a blob with \(digest.count) bytes"))
        return true
      }
      report.require(
        try source.contains(digest, in: shared.blobs), fault("a body refers to it, and it is missing"))
      report.require(
        try source.contains(digest + owner, in: spaces.uses),
        fault("a body refers to it, and that is not among its uses"))
      return true
    }
  }

  private mutating func checkCounts() throws {
    func require(_ keyspace: Keyspace, _ count: Int, _ what: String) throws {
      let found = try source.count(in: keyspace)
      report.require(
        found == count, DocumentFault("there are \(found) \(what) instead of \(count)", collection: name))
    }
    let documents = Int(clamping: wanted.documents + wanted.tombstones)
    try require(spaces.documents, documents, "documents")
    try require(spaces.sequences, documents, "entries in the feed")
    try require(spaces.marks, Int(clamping: wanted.tombstones) + conflicts, "marks")
    try require(spaces.expiry, expiring, "times of expiry")
    try require(spaces.uses, Int(clamping: wanted.references), "uses of blobs")
  }

  /// Returns the number in a key of 8 bytes; nil for other keys.
  static func number(_ key: [UInt8]) -> UInt64? {
    key.count == 8 ? key.reduce(0) { $0 << 8 | UInt64($1) } : nil
  }
}
