@testable import LatewoodFile

/// Files made with the codecs: structures that the store writes only after megabytes, and files of
/// later versions.
extension GoldenFile {
  static func handmade() throws -> [GoldenFile] {
    [
      try longTransactions(), try oddOperations(), try secondHeader(),
      try changedHeader("too-new") { $0[$0.startIndex + 8] = 2 },
      try changedHeader("unknown-feature") { $0[$0.startIndex + FileHeader.Offset.requiredFeatures + 3] = 1 },
    ]
  }

  private static func emptyFile() throws -> FileSurgery { try FileSurgery(ModelledStore(seed: 10).bytes()) }

  /// Transactions in several frames: complete, interrupted, aborted, and without an end.
  private static func longTransactions() throws -> GoldenFile {
    typealias Encoded = EncodedOperation
    var file = try emptyFile()
    file.append(.commit, transaction: 1, Encoded.create(1, "k"))
    file.append(.commit, transaction: 2, continues: true, Encoded.put(1, "lost", "1"))
    file.append(.seal, transaction: 2)
    file.append(.commit, transaction: 3, continues: true, Encoded.put(1, "a", "2"))
    file.append(.commit, transaction: 3, continues: true, Encoded.put(1, "b", "3") + Encoded.put(1, "a", "4"))
    file.append(.commit, transaction: 3, Encoded.put(1, "c", "5"))
    file.append(.commit, transaction: 7, Encoded.put(1, "d", "6"))
    file.append(.commit, transaction: 8, continues: true, Encoded.put(1, "a", "lost too"))
    var model = KeyspaceModel()
    for (key, value) in [("a", "4"), ("b", "3"), ("c", "5"), ("d", "6")] {
      model.apply(.put("k", key, value))
    }
    return GoldenFile("long-transactions", file.bytes, .reads(listing: model.listing))
  }

  /// Operations that FORMAT.md allows but no store writes: ranges across keyspaces, without a low
  /// bound, and upside down.
  private static func oddOperations() throws -> GoldenFile {
    typealias Encoded = EncodedOperation
    var file = try emptyFile()
    file.append(
      .commit, transaction: 1,
      Encoded.create(1, "a") + Encoded.create(2, "b") + Encoded.put(1, "x", "1") + Encoded.put(2, "y", "2")
        + Encoded.put(2, "z", "3"))
    file.append(.commit, transaction: 2, Encoded.deleteRange([0, 0, 0, 1], [0, 0, 0, 2, 0x7A]))
    file.append(.commit, transaction: 3, Encoded.deleteRange([9], [0, 0]) + Encoded.deleteRange([5], []))
    file.append(.commit, transaction: 4, [])
    var model = KeyspaceModel()
    model.apply(.create("a"))
    model.apply(.put("b", "z", "3"))
    return GoldenFile("odd-operations", file.bytes, .reads(listing: model.listing))
  }

  private static func secondHeader() throws -> GoldenFile {
    let store = try ModelledStore(seed: 11)
    try store.commit(.put("fruit", "apple", "red"))
    var file = try FileSurgery(store.bytes())
    file.flip(20)
    return GoldenFile("second-header", file.bytes, .reads(listing: store.model.listing, faults: [0]))
  }

  private static func changedHeader(
    _ name: String, _ change: (inout ArraySlice<UInt8>) -> Void
  ) throws -> GoldenFile {
    var file = try emptyFile()
    file.changeHeader(change)
    return GoldenFile(name, file.bytes, .rejected(.tooNew))
  }
}
