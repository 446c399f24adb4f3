import LatewoodSimulation
import LatewoodStore

/// Files as the store writes them.
extension GoldenFile {
  static func written() throws -> [GoldenFile] {
    [
      try GoldenFile("empty", ModelledStore()),
      try annotated(), try oneCommit(), try checkpointed(), try highTree(), try rangeDeletes(),
      try droppedKeyspace(), try compacted(), try holes(), try backup(), try documents(.version1),
      try documents(.version2), try views(), try texts(),
    ]
  }

  /// The file that section 12 of FORMAT.md explains byte by byte.
  static func annotated() throws -> GoldenFile {
    let store = try ModelledStore(seed: 12)
    try store.commit(.create("fruit"), .put("fruit", "apple", "red"), .put("fruit", "pear", "green"))
    try store.checkpoint()
    return try GoldenFile("annotated", store)
  }

  private static func oneCommit() throws -> GoldenFile {
    let store = try ModelledStore(seed: 2)
    try store.commit(.create("fruit"), .put("fruit", "apple", "red"), .delete("fruit", "pear"))
    return try GoldenFile("one-commit", store)
  }

  /// Values of all kinds in several keyspaces, one of which is empty; a clean close.
  static func checkpointedStore(_ options: Store.Options = Store.Options()) throws -> ModelledStore {
    let store = try ModelledStore(options, seed: 3)
    var random = SeededRandom(seed: 3)
    try store.commit(.create("empty"), .create("früchte \"\\ 🍐"), .create("sizes"))
    for length in [0, 1, 63, 64, 127, 128, 511, 512, 513, 3000] {
      try store.commit(.put("sizes", Array("length \(length)".utf8), random.bytes(length)))
    }
    try store.commit(
      .put("früchte \"\\ 🍐", "\u{1}\"\\\n", "\u{8}\u{c}\u{7f}"), .put("früchte \"\\ 🍐", [0, 255], [254, 0]),
      .put("sizes", "replaced", "before"), .delete("sizes", "length 1"), .delete("sizes", "never there"))
    try store.checkpoint()
    try store.commit(.put("sizes", "replaced", "after"), .put("sizes", [0], random.bytes(700)))
    return store
  }

  /// Dead space was released in blocks of a sector. Large values stay between holes.
  private static func holes() throws -> GoldenFile {
    var options = Store.Options()
    options.nodeSize = 1024
    options.inlineValueLimit = 64
    options.punchingThreshold = 1
    let store = try ModelledStore(options, seed: 21, on: SimulatedVolume())
    var random = SeededRandom(seed: 21)
    try store.commit(.create("fruit"))
    for _ in 0..<6 {
      for number in 0..<12 {
        let key = Array("key \(random.below(60))".utf8)
        try store.commit(.put("fruit", key, random.bytes(number == 7 ? 900 : 40)))
      }
      try store.checkpoint()
    }
    try store.commit(.put("fruit", "after", "the last checkpoint"))
    return try GoldenFile("holes", store)
  }

  /// A backup that was extended once, and a second time incompletely. Bytes behind its seal do not
  /// count.
  private static func backup() throws -> GoldenFile {
    let store = try checkpointedStore()
    try store.store.backup(to: "backup")
    try store.commit(.put("sizes", "since", "then"), .delete("sizes", "length 2"))
    try store.store.backup(to: "backup")
    var golden = GoldenFile(
      "backup", try Repository.read(store.volume, "backup"), .reads(listing: store.model.listing))
    try store.commit(.put("sizes", "since", "that"))
    try store.checkpoint()
    golden.bytes += try store.bytes().dropFirst(golden.bytes.count)
    return golden
  }

  /// A compacted file with extents, and commits after that.
  private static func compacted() throws -> GoldenFile {
    let store = try checkpointedStore()
    try store.compact()
    try store.commit(.put("sizes", "since", "then"), .delete("sizes", "length 2"))
    return try GoldenFile("compacted", store)
  }

  private static func checkpointed() throws -> GoldenFile {
    let store = try checkpointedStore()
    try store.close()
    return try GoldenFile("checkpointed", store)
  }

  /// Small nodes and long keys: several levels, long prefixes and separators.
  static func highTreeStore() throws -> ModelledStore {
    var options = Store.Options()
    options.nodeSize = 1024
    let store = try ModelledStore(options, seed: 4)
    var random = SeededRandom(seed: 4)
    let stems = (0..<8).map { _ in random.bytes(250) }
    for _ in 0..<2 {
      try store.commit(
        (0..<35).map { _ in
          .put("deep", random.pick(stems) + random.bytes(1 + random.below(60)), random.bytes(30))
        })
      try store.checkpoint()
    }
    return store
  }

  private static func highTree() throws -> GoldenFile { try GoldenFile("high-tree", highTreeStore()) }

  /// Range deletes that are only in the log, over a checkpoint, followed by puts into the ranges.
  private static func rangeDeletes() throws -> GoldenFile {
    let store = try ModelledStore(seed: 5)
    try store.commit([.create("a"), .create("b")])
    try store.commit((0..<100).map { .put("a", "key \($0)", "old \($0)") } + [.put("b", "key 5", "other")])
    try store.checkpoint()
    try store.commit(.deleteRange("a", "key 2", "key 4"), .put("a", "key 30", "new"))
    try store.commit(.put("a", "key 39", "gone again"), .deleteRange("a", "key 35", "key 6"))
    try store.commit(.put("a", "key 55", "back"), .deleteRange("a", "key 9", "key 9"), .delete("a", "key 0"))
    return try GoldenFile("range-deletes", store)
  }

  /// Keyspaces dropped before and after the checkpoint. A name that is used again has a new number.
  private static func droppedKeyspace() throws -> GoldenFile {
    let store = try ModelledStore(seed: 6)
    try store.commit((0..<40).map { .put("first", "key \($0)", "1") } + [.put("second", "key", "2")])
    try store.commit(.drop("first"))
    try store.commit(.put("third", "key", "3"), .put("first", "again", "4"))
    try store.checkpoint()
    try store.commit(.drop("second"), .put("fourth", "key", "5"), .put("second", "again", "6"))
    return try GoldenFile("dropped-keyspace", store)
  }
}
