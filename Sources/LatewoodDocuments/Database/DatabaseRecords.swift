import LatewoodStore

/// The database-wide records: format, identity, revision depth, collection states.
enum DatabaseRecords {
  static let formatKey = "format"
  static let identityKey = "identity"
  static let depthKey = "depth"
  /// The key of the maximum depth that trees may still have. It is greater than `depth` until a
  /// sweep has pruned all trees.
  static let deepestKey = "deepest"
  static let blobNumberKey = "blob-number"
  static let uploadPrefix = "upload/"

  /// The key of the feature bits that a program must know to read the documents; absent if there
  /// are none.
  static let featuresKey = "features"

  /// Reads the version of the keyspaces and records.
  ///
  /// - Throws: ``DatabaseError`` `wrongFormat` if there is none; `tooNew`.
  static func format(in spaces: DatabaseSpaces, _ source: some Readable) throws(DatabaseError)
    -> DocumentFormat
  {
    guard let number = try number(formatKey, in: spaces, source), number > 0 else {
      throw DatabaseError(.wrongFormat, "the file does not say in what format its documents are")
    }
    guard let format = DocumentFormat(rawValue: number) else {
      throw DatabaseError(
        .tooNew, "the documents are in format \(number), this is for \(DocumentFormat.newest.rawValue)")
    }
    let features = try DatabaseRecords.number(featuresKey, in: spaces, source) ?? 0
    guard features == 0 else {
      throw DatabaseError(
        .tooNew, "the documents use features that this program does not know: use a newer one")
    }
    return format
  }

  static func number(
    _ key: String, in spaces: DatabaseSpaces, _ source: some Readable
  ) throws(DatabaseError) -> UInt64? {
    try source.mapValue(key, in: spaces.database) { value in
      try value.reading { (bytes) throws(DatabaseError) -> UInt64 in
        guard var source = UntrustedBytes(bytes, what: "a number of the database") else {
          throw DatabaseError(.corruptData, "the value of \(key) is empty")
        }
        let number = try source.varint()
        guard source.isAtEnd else { throw source.damaged("it is too long") }
        return number
      }
    }
  }

  /// The number of generations of revisions to keep; at least 1.
  static func depth(in spaces: DatabaseSpaces, _ source: some Readable) throws(DatabaseError) -> Int {
    let depth = try number(depthKey, in: spaces, source)
    return Int(min(max(depth ?? UInt64(RevisionTree.usualDepth), 1), 1 << 30))
  }

  /// Returns the state of a collection; nil if no collection has that name.
  static func state(
    of collection: String, in spaces: DatabaseSpaces, _ source: some Readable
  ) throws(DatabaseError) -> CollectionState? {
    try source.mapValue(CollectionState.key(collection), in: spaces.database) { value in
      try value.reading { (bytes) throws(DatabaseError) in try CollectionState(bytes) }
    }
  }

  static func encoded(_ number: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(varint: number)
    return bytes
  }
}
