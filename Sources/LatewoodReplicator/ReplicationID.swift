import LatewoodDocuments
import LatewoodFleece

/// The names under which a replication keeps its checkpoints.
struct ReplicationID: Equatable {
  /// The id of this replication: 32 hexadecimal digits, a hash of both identities, their order, and
  /// the filter.
  let text: String
  /// The id of the replication of the database that the source or target was copied from, which
  /// is found by `lineage`; nil if neither can be a copy.
  let lineage: String?

  init(source: PeerInformation, target: PeerInformation, _ filter: ReplicationFilter) throws(FleeceError) {
    text = try Self.hash(source.identity, target.identity, filter)
    lineage =
      source.lineage == nil && target.lineage == nil
      ? nil
      : try Self.hash(source.lineage ?? source.identity, target.lineage ?? target.identity, filter)
  }

  private static func hash(
    _ source: String, _ target: String, _ filter: ReplicationFilter
  ) throws(FleeceError) -> String {
    var writer = FleeceWriter()
    try writer.beginDictionary()
    try writer.key("source")
    try writer.string(source)
    try writer.key("target")
    try writer.string(target)
    if let ids = filter.ids {
      try writer.key("ids")
      try writer.beginArray()
      for id in Set(ids).sorted() { try writer.string(id) }
      try writer.endArray()
    }
    if let selector = filter.selector {
      try writer.key("selector")
      // Equal selectors have equal bytes as Fleece.
      try writer.data(try JSON.fleece(from: selector))
    }
    if filter.isIncluded != nil || filter.name != nil {
      try writer.key("filter")
      try writer.string(filter.name ?? "")
      try writer.key("version")
      try writer.integer(Int64(filter.version))
    }
    if !filter.includesDeletions {
      try writer.key("deletions")
      try writer.boolean(false)
    }
    try writer.endDictionary()
    return String(BlobDigest(of: try writer.finish()).description.prefix(32))
  }
}
