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
  /// The numbers of documents in conflict and of documents that expire.
  var conflicts = 0
  var expiring = 0
  /// The number of bodies that belong to a leaf.
  var leafBodies: UInt64 = 0
  private let kinds = DerivedKinds.all

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
    do {
      state = try DatabaseRecords.state(of: name, in: shared, source) ?? wanted
    } catch {
      // Everything else can still be checked.
      report.add(DatabaseFault(error, collection: name))
    }
    wanted = CollectionState(state.identity)
    wanted.lastSequence = state.lastSequence
    wanted.indexChanges = state.indexChanges
    try source.forEach(in: spaces.documents) { key, value in
      let id = key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      do {
        let record = try value.reading { (bytes) throws(DatabaseError) in try DocumentRecord(bytes) }
        try check(id, record, deepest == nil ? nil : value.reading { Array($0) })
      } catch { report.add(DatabaseFault(error, collection: name, document: id)) }
      return true
    }
    for kind in kinds { try kind.check(&self) }
    try require(spaces.documents, Int(clamping: wanted.documents + wanted.tombstones), "documents")
    report.require(
      state == wanted, DatabaseFault("it counts \(state), and there is \(wanted)", collection: name))
    report.documents += Int(clamping: wanted.documents)
    report.bodies += Int(clamping: wanted.bodies)
  }

  private mutating func check(_ id: String, _ record: DocumentRecord, _ bytes: [UInt8]?) throws {
    guard let head = record.head else { return }
    let document = CheckedDocument(id: id, record: record, head: head, collection: name)
    if head.isDeleted { wanted.tombstones += 1 } else { wanted.documents += 1 }
    for kind in kinds { try kind.check(document, in: &self) }
    if let deepest, let bytes { try checkForm(of: document, bytes, deepest) }
  }

  /// Checks that the document's tree is in canonical form and no deeper than allowed.
  private mutating func checkForm(of document: CheckedDocument, _ bytes: [UInt8], _ deepest: Int) throws {
    if let reason = NameRules.objection(toID: document.id) { report.add(document.fault("its id \(reason)")) }
    report.require(
      document.record.encoded() == bytes,
      document.fault("its record is not in the form in which it is written"))
    var tree = document.record.tree
    report.require(
      !tree.prune(to: max(1, deepest)),
      document.fault("it keeps more than \(deepest) generations of revisions"))
  }

  /// Compares the number of keys in a keyspace with the number that the records require.
  mutating func require(_ keyspace: Keyspace, _ count: Int, _ what: String) throws {
    let found = try source.count(in: keyspace)
    report.require(
      found == count, DatabaseFault("there are \(found) \(what) instead of \(count)", collection: name))
  }

  /// Returns the number in a key of 8 bytes; nil for other keys.
  static func number(_ key: [UInt8]) -> UInt64? {
    key.count == 8 ? key.reduce(0) { $0 << 8 | UInt64($1) } : nil
  }
}

/// A document whose record is being checked.
struct CheckedDocument {
  let id: String
  let record: DocumentRecord
  let head: DocumentRecord.Head
  let collection: String

  func fault(_ what: String, _ revision: RevisionID? = nil) -> DatabaseFault {
    DatabaseFault(what, collection: collection, document: id, revision: revision)
  }
}
