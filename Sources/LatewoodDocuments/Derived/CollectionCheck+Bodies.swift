import LatewoodFleece
import LatewoodStore

extension Bodies {
  static func check(_ document: CheckedDocument, in check: inout CollectionCheck) throws {
    try check.checkBodies(of: document)
  }

  static func check(_ check: inout CollectionCheck) throws {
    try check.checkBodies()
    try check.checkReferences()
    if check.deepest != nil { try check.checkOtherBodies() }
    try check.require(check.spaces.uses, Int(clamping: check.wanted.references), "uses of blobs")
  }
}

/// The checks of bodies, which are decoded if the check is deep.
extension CollectionCheck {
  /// Checks that the bodies of leaves exist and, in a deep check, that they are documents whose
  /// blobs are listed.
  fileprivate mutating func checkBodies(of document: CheckedDocument) throws {
    let record = document.record
    for node in record.tree.nodes where node.isLeaf && node.body != 0 {
      leafBodies += 1
      let key = SequenceEntry.key(node.body)
      if let body = record.body, node.body == record.sequence {
        wanted.bodies += 1
        wanted.bodyBytes += UInt64(body.count)
      } else {
        report.require(
          try source.contains(key, in: spaces.bodies), document.fault("its body is missing", node.id))
      }
      report.require(
        try !source.contains(key, in: spaces.superseded), document.fault("its body would be swept", node.id))
      guard deepest != nil else { continue }
      let body = node.body == record.sequence ? record.body : nil
      try checkBody(node.body, body, of: document.fault("", node.id))
    }
  }

  fileprivate mutating func checkBodies() throws {
    try source.forEach(in: spaces.superseded) { key, _ in
      wanted.superseded += 1
      let bytes = key.withUnsafeBytes { Array($0) }
      report.require(
        try source.contains(bytes, in: spaces.bodies),
        DatabaseFault("a superseded body is missing", collection: name, sequence: Self.number(bytes)))
      return true
    }
    try source.forEach(in: spaces.bodies) { key, value in
      wanted.bodies += 1
      wanted.bodyBytes += UInt64(value.byteCount)
      return true
    }
    report.require(
      wanted.bodies == leafBodies + wanted.superseded,
      DatabaseFault(
        "there are \(wanted.bodies) bodies, \(leafBodies) of leaves and \(wanted.superseded) superseded",
        collection: name))
  }

  fileprivate mutating func checkReferences() throws {
    try source.forEach(in: spaces.references) { key, _ in
      wanted.references += 1
      let bytes = key.withUnsafeBytes { Array($0) }
      // In the key of a local document, the sequence is 0 and the name precedes the digest.
      let owner = Array(
        bytes.prefix(bytes.starts(with: LocalReference.sequence) ? max(8, bytes.count - 32) : 8))
      let (sequence, document) = (Array(owner.prefix(8)), Array(owner.dropFirst(8)))
      let digest = Array(bytes.dropFirst(owner.count))
      let blob = BlobDigest(digest)
      func fault(_ what: String) -> DatabaseFault {
        DatabaseFault(
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

  /// Checks the bodies that do not belong to a leaf, and local documents.
  fileprivate mutating func checkOtherBodies() throws {
    var superseded: [UInt64] = []
    try source.forEach(in: spaces.superseded) { key, _ in
      let bytes = key.withUnsafeBytes { Array($0) }
      if let sequence = Self.number(bytes) { superseded.append(sequence) }
      return true
    }
    for sequence in superseded {
      try checkBody(sequence, nil, of: DatabaseFault("", collection: name, sequence: sequence))
    }
    try source.forEach(in: spaces.local) { key, value in
      let id = key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      let fault = DatabaseFault("", collection: name, document: id)
      let body = value.withUnsafeBytes { Array($0) }
      if let reason = Self.damage(body) {
        report.add(fault.withMessage("the local document: \(reason)"))
      } else {
        let listed = try LocalReference.blobs(of: id, in: spaces.references, source)
        try compareBlobs(Set(BlobReferences.find(in: body)), listed, of: fault)
      }
      return true
    }
  }

  /// - Parameters:
  ///   - body: the body if it is in the record of its document.
  ///   - owner: the owner of the body, given as a fault without a text.
  private mutating func checkBody(_ place: UInt64, _ body: [UInt8]?, of owner: DatabaseFault) throws {
    // A missing body has already been reported.
    guard let body = try body ?? source.get(SequenceEntry.key(place), in: spaces.bodies) else { return }
    if let reason = Self.damage(body) {
      report.add(owner.withMessage("its body is damaged: \(reason)"))
      return
    }
    var listed: Set<BlobDigest> = []
    try source.forEach(in: spaces.references, .prefix(SequenceEntry.key(place))) { key, _ in
      if let digest = key.withUnsafeBytes({ BlobDigest($0.dropFirst(8)) }) { listed.insert(digest) }
      return true
    }
    try compareBlobs(Set(BlobReferences.find(in: body)), listed, of: owner)
  }

  /// - Parameters:
  ///   - named: the blobs that a body refers to.
  ///   - listed: the blobs that are listed for it.
  private mutating func compareBlobs(
    _ named: Set<BlobDigest>, _ listed: Set<BlobDigest>, of owner: DatabaseFault
  ) throws {
    for digest in listed.subtracting(named) {
      report.add(owner.withMessage("the body is listed as referring to the blob, but does not", digest))
    }
    for digest in named.subtracting(listed) {
      report.add(
        owner.withMessage("the body refers to the blob, and is not listed: the blob could be swept", digest))
    }
  }

  /// Returns the reason why bytes are not the body of a document; nil if they are.
  private static func damage(_ body: [UInt8]) -> String? {
    do throws(FleeceError) {
      let root = try FleeceBody(body).root
      try root.validate()
      return try root.kind == .dictionary ? nil : "it is not a dictionary"
    } catch { return "\(error)" }
  }
}
