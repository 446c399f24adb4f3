import LatewoodStore

/// Bodies of earlier revisions that a merge with another database may need.
///
/// If a document is edited before a push has transferred its last edit, the other database may edit
/// the revision that it has at the same time. To merge the two edits, a program needs the content
/// of that revision, their common ancestor. So for each leaf that a database does not have, the
/// body of the nearest ancestor that it is known to have stays: at most one for each leaf and
/// database. The leaf may also have been pushed since, which only the next push finds out.
extension Readable {
  /// Returns the sequences of these bodies. O(changes since the last push, for each database).
  ///
  /// - Returns: nil if no other database is known.
  func ancestorBodies(_ spaces: CollectionSpaces) throws -> Set<UInt64>? {
    let remotes = try remotes(in: spaces.local)
    if remotes.isEmpty { return nil }
    var needed: Set<UInt64> = []
    for remote in remotes {
      for place in remote.refused {
        try addAncestors(of: .prefix(SequenceEntry.key(place)), remote, spaces, to: &needed)
      }
      guard remote.pushed < .max else { continue }
      try addAncestors(of: .from(SequenceEntry.key(remote.pushed + 1)), remote, spaces, to: &needed)
    }
    return needed
  }

  /// - Parameter range: a part of the feed.
  private func addAncestors(
    of range: KeyRange, _ remote: RemoteKnowledge, _ spaces: CollectionSpaces, to needed: inout Set<UInt64>
  ) throws {
    try forEach(in: spaces.sequences, range) { key, value in
      let entry = try key.reading { (key) throws(DatabaseError) in
        try value.reading { (value) throws(DatabaseError) in try SequenceEntry(key: key, value: value) }
      }
      let record = try mapValue(entry.id, in: spaces.documents) { value in
        try value.reading { (bytes) throws(DatabaseError) in try DocumentRecord(bytes) }
      }
      if let record { needed.formUnion(record.tree.ancestorBodies(remote)) }
      return true
    }
  }
}

extension RevisionTree {
  /// Whether one of its revisions has one of some bodies.
  func hasBody(among bodies: Set<UInt64>) -> Bool {
    !bodies.isEmpty && nodes.contains { bodies.contains($0.body) }
  }

  /// The bodies of the nearest ancestors that another database is known to have, of the leaves that
  /// it is not known to have.
  func ancestorBodies(_ remote: RemoteKnowledge) -> [UInt64] {
    nodes.indices.compactMap { leaf in
      guard nodes[leaf].isLeaf, !remote.contains(nodes[leaf].body) else { return nil }
      var place = Int(nodes[leaf].parent)
      while place >= 0, !remote.contains(nodes[place].body) { place = Int(nodes[place].parent) }
      return place >= 0 ? nodes[place].body : nil
    }
  }
}
