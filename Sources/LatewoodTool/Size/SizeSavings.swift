import LatewoodDocuments

/// The bytes that could be saved, by method.
struct SizeSavings {
  /// The approximate size after a compaction.
  var compactedBytes: UInt64 = 0
  /// The bytes of bodies of old revisions, with their keys and the list of them.
  var supersededBytes: UInt64 = 0
  var unneeded = UnneededBlobs()
  /// The bytes of chunks of unfinished blobs.
  var unfinishedUploadBytes: UInt64 = 0
  var expired: UInt64 = 0
  var expiredBytes: UInt64 = 0
  /// The number of generations that the file keeps of each document; nil without documents.
  var depth: Int?
  /// The bytes of revision trees beyond that depth, which was greater before.
  var tooDeepBytes: UInt64 = 0
  /// The bytes that smaller depths would save.
  var pruning: [(depth: Int, bytes: UInt64)] = []

  /// The length of header, copy and slots.
  static let fixedBytes: UInt64 = 16 << 10
  static let triedDepths = [10, 5, 1]

  /// The bytes that a compaction of a file of documents leaves out, although the newest state of
  /// the store contains them.
  var removedBytes: UInt64 {
    supersededBytes &+ unneeded.unneededBytes &+ unfinishedUploadBytes &+ expiredBytes &+ tooDeepBytes
  }

  /// Estimates the size after a compaction: header, slots, and the newest state in full nodes, but
  /// at most the current live parts of the file.
  mutating func estimate(_ parts: FileParts, _ contents: [KeyspaceContent]) {
    let written = contents.reduce(0 as UInt64) { $0 &+ $1.compactedBytes } &+ parts.catalogBytes
    let kept = written - min(written, removedBytes)
    // Inner nodes, and nodes that are not quite full.
    let newest = parts.fixed &+ kept &+ kept / 50
    let live = parts.live &+ parts.log
    let asItIs = parts.fixed &+ (live - min(live, removedBytes))
    compactedBytes = min(newest, asItIs)
    compactedBytes = min(compactedBytes, parts.fileBytes)
  }
}
