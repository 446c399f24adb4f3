import LatewoodDocuments
import LatewoodStore

/// Group `blob`: writes and reads one large blob, and measures the memory use.
extension Run where Engine == LatewoodEngine {
  /// The allowed memory for a blob of any length, in MiB.
  private static var allowedMiB: Double { 64 }

  func blobGroup() throws {
    options.directory.makeEmpty()
    let store = try DocumentStore.open(at: options.directory.path + "/blob.latewood")
    try streamBlob(options.scaled(1024), through: store)
    try store.close()
  }

  /// - Parameter count: the number of mebibytes.
  func streamBlob(_ count: UInt64, through store: DocumentStore) throws {
    let writer = try store.makeBlobWriter()
    var piece = [UInt8](repeating: 0x63, count: 1 << 20)
    var before = memory.restart()
    let blob = try measure("doc-blob-in", operations: count) {
      for number in 0..<count {
        withUnsafeBytes(of: number) { piece.replaceSubrange(0..<8, with: $0) }
        try piece.withUnsafeBytes { try writer.write($0) }
      }
      return try writer.finish()
    }
    checkMemory("doc-blob-in", from: before)
    before = memory.restart()
    var length: UInt64 = 0
    try measure("doc-blob-out", operations: count) {
      // The file is verified, so that all bytes are really read.
      try blob.forEachVerifiedPiece { piece in
        length += UInt64(piece.byteCount)
        return true
      }
    }
    checkMemory("doc-blob-out", from: before)
    report.require("doc-blob-out", "\(length) bytes", "\(count << 20)", length == count << 20)
  }

  private func checkMemory(_ workload: String, from before: Double) {
    let growth = memory.peakMiB - before
    report.figure(workload, "anon_growth_MiB", growth)
    report.require(
      workload, "growth of \(NumberFormat.general(growth)) MiB", "at most \(Self.allowedMiB)",
      growth <= Self.allowedMiB)
  }
}
