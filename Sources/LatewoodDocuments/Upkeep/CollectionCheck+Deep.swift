import LatewoodFleece
import LatewoodStore

/// The checks that need decoding, or follow entries back to their documents.
extension CollectionCheck {
  /// Checks that the document's tree is in canonical form and no deeper than allowed, that its
  /// current bodies are documents, and that their blobs are listed.
  mutating func checkDeeply(
    _ id: String, _ record: DocumentRecord, _ bytes: [UInt8], _ deepest: Int
  ) throws {
    func fault(_ what: String, _ revision: RevisionID? = nil) -> DocumentFault {
      DocumentFault(what, collection: name, document: id, revision: revision)
    }
    if let reason = NameRules.objection(toID: id) { report.add(fault("its id \(reason)")) }
    report.require(record.encoded() == bytes, fault("its record is not in the form in which it is written"))
    var tree = record.tree
    report.require(
      !tree.prune(to: max(1, deepest)), fault("it keeps more than \(deepest) generations of revisions"))
    for node in record.tree.nodes where node.isLeaf && node.body != 0 {
      let body = node.body == record.sequence ? record.body : nil
      try checkBody(node.body, body, of: fault("", node.id))
    }
  }

  /// Checks the bodies that do not belong to a leaf, and local documents.
  mutating func checkOtherBodies() throws {
    var superseded: [UInt64] = []
    try source.forEach(in: spaces.superseded) { key, _ in
      let bytes = key.withUnsafeBytes { Array($0) }
      if let sequence = Self.number(bytes) { superseded.append(sequence) }
      return true
    }
    for sequence in superseded {
      try checkBody(sequence, nil, of: DocumentFault("", collection: name, sequence: sequence))
    }
    try source.forEach(in: spaces.local) { key, value in
      let id = key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      let fault = DocumentFault("", collection: name, document: id)
      let body = value.withUnsafeBytes { Array($0) }
      if let reason = Self.damage(body) {
        report.add(fault.saying("the local document: \(reason)"))
      } else {
        let listed = try LocalReference.blobs(of: id, in: spaces.references, source)
        try compareBlobs(Set(BlobReferences.find(in: body)), listed, of: fault)
      }
      return true
    }
  }

  /// Checks that every entry of the feed agrees with the record of its document.
  mutating func checkFeed() throws {
    try source.forEach(in: spaces.sequences) { key, value in
      let sequence = Self.number(key.withUnsafeBytes { Array($0) })
      func fault(_ what: String, _ id: String? = nil) -> DocumentFault {
        DocumentFault(what, collection: name, document: id, sequence: sequence)
      }
      do throws(DocumentError) {
        let entry = try key.reading { (key) throws(DocumentError) in
          try value.reading { (value) throws(DocumentError) in try SequenceEntry(key: key, value: value) }
        }
        let head = try DocumentError.typed {
          try source.withValue(entry.id, in: spaces.documents) { value in
            try value.reading { (bytes) throws(DocumentError) in try DocumentRecord.Head(bytes) }
          }
        }
        if let head {
          report.require(
            head.sequence == entry.sequence,
            fault("the feed has the document here, and it is at \(head.sequence)", entry.id))
        } else {
          report.add(fault("the feed has a document that is not there", entry.id))
        }
      } catch { report.add(fault(error.message)) }
      return true
    }
  }

  /// - Parameters:
  ///   - body: the body if it is in the record of its document.
  ///   - owner: the owner of the body, given as a fault without a text.
  private mutating func checkBody(_ place: UInt64, _ body: [UInt8]?, of owner: DocumentFault) throws {
    // A missing body has already been reported.
    guard let body = try body ?? source.get(SequenceEntry.key(place), in: spaces.bodies) else { return }
    if let reason = Self.damage(body) {
      report.add(owner.saying("its body is damaged: \(reason)"))
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
    _ named: Set<BlobDigest>, _ listed: Set<BlobDigest>, of owner: DocumentFault
  ) throws {
    for digest in listed.subtracting(named) {
      report.add(owner.saying("the body is listed as referring to the blob, but does not", digest))
    }
    for digest in named.subtracting(listed) {
      report.add(
        owner.saying("the body refers to the blob, and is not listed: the blob could be swept", digest))
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

extension DocumentFault {
  fileprivate func saying(_ what: String, _ blob: BlobDigest? = nil) -> DocumentFault {
    var fault = self
    (fault.what, fault.blob) = (what, blob)
    return fault
  }
}
