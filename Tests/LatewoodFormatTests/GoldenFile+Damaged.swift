import LatewoodSimulation
import LatewoodStore

@testable import LatewoodFile
@testable import LatewoodTree

/// Files that have lost acknowledged data. A reader must report the offset of the loss.
extension GoldenFile {
  static func damaged() throws -> [GoldenFile] {
    [
      try damagedCommit(), try damagedNode(), try damagedExtent(), try cutShort(), try malformedOperation(),
      try shortKey(),
      try changed("damaged-slots", [8200, 12296], at: 8192),
      try changed("damaged-headers", [20, 4116], at: 0),
    ]
  }

  /// A flipped bit in the second of three commits. The third commit records that the second was
  /// durable.
  private static func damagedCommit() throws -> GoldenFile {
    let store = try ModelledStore(seed: 13)
    for index in 0..<3 { try store.commit(.put("fruit", "key \(index)", "value")) }
    var file = try FileSurgery(store.bytes())
    let frame = file.frames(.commit)[1]
    file.flip(Int(frame.ownOffset) + FrameHeader.length + 9)
    return GoldenFile("damaged-commit", file.bytes, .damaged(at: frame.ownOffset))
  }

  /// A flipped bit in the first leaf under the root.
  private static func damagedNode() throws -> GoldenFile {
    var file = try FileSurgery(highTreeStore().bytes())
    guard let frame = file.frames(.checkpoint).last,
      let root = try file.checkpoint(at: frame.ownOffset).root?.reference
    else { throw Missing() }
    var offset = root.offset
    while file.bytes[Int(offset) + NodeLayout.level] > 0 {
      offset = file.bytes.withUnsafeBytes { all in
        all.loadUnaligned(fromByteOffset: Int(offset) + NodeLayout.arrays, as: UInt64.self).littleEndian
      }
    }
    file.flip(Int(offset) + 100)
    return GoldenFile("damaged-node", file.bytes, .damaged(at: offset))
  }

  /// A flipped bit in a value that a node refers to.
  private static func damagedExtent() throws -> GoldenFile {
    let store = try ModelledStore(seed: 14)
    var random = SeededRandom(seed: 14)
    let value = random.bytes(2000)
    try store.commit(.put("k", [1], [2]), .put("k", [3], value), .put("k", [4], [5]))
    try store.close()
    var file = try FileSurgery(store.bytes())
    guard let offset = file.lastOffset(of: Array(value[..<16])) else { throw Missing() }
    file.flip(offset + 1000)
    return GoldenFile("damaged-extent", file.bytes, .damaged(at: UInt64(offset)))
  }

  /// The file ends within a commit that a slot says was durable.
  private static func cutShort() throws -> GoldenFile {
    let store = try ModelledStore(seed: 17)
    for index in 0..<5 { try store.commit(.put("fruit", "key \(index)", "value")) }
    try store.close()
    var file = try FileSurgery(store.bytes())
    let frame = file.frames(.commit)[3]
    file.cut(at: Int(frame.ownOffset) + 60)
    return GoldenFile("cut-short", file.bytes, .damaged(at: frame.ownOffset))
  }

  /// A frame with a valid checksum whose second operation is malformed.
  private static func malformedOperation() throws -> GoldenFile {
    var file = try FileSurgery(ModelledStore(seed: 15).bytes())
    let first = EncodedOperation.create(1, "k")
    file.append(.commit, transaction: 1, first + [OperationCode.put, 0x85, 0x00, 0, 0, 0, 0, 1, 0x61])
    let offset = Int(FileLayout.logStart) + FrameHeader.length + first.count
    return GoldenFile("malformed-operation", file.bytes, .damaged(at: UInt64(offset)))
  }

  /// All checksums are right, but the first key of the leaf has no bytes after the number of its
  /// keyspace.
  private static func shortKey() throws -> GoldenFile {
    var file = try FileSurgery(annotated().bytes)
    let offset = try file.changeRoot { node in
      let cell = Int(UnsafeRawPointer(node).u16(NodeLayout.arrays + 5 * NodeLayout.headLength))
      node.set(UInt8(1), at: cell)
      node.set(UInt32(0), at: NodeLayout.arrays)
    }
    return GoldenFile("short-key", file.bytes, .damaged(at: offset))
  }

  private static func changed(_ name: String, _ flips: [Int], at offset: UInt64) throws -> GoldenFile {
    let store = try ModelledStore(seed: 16)
    try store.commit(.put("fruit", "apple", "red"))
    var file = try FileSurgery(store.bytes())
    for flip in flips { file.flip(flip) }
    return GoldenFile(name, file.bytes, .damaged(at: offset))
  }
}
