import LatewoodBytes
import Testing

@testable import LatewoodFile
@testable import LatewoodTree

/// The condition on a reference, which all readers of nodes share.
@Suite struct NodeReferenceTests {
  private static let outside = "a node does not lie within the file at a multiple of 64"
  private static let length = "a node's length is not between 48 and 65,535 bytes"

  /// References that cannot be followed in a file of 20,000 bytes, and the reason.
  private static let refused: [(offset: UInt64, length: UInt32, reason: String)] = [
    (16_384, 0, length), (16_384, 47, length), (16_384, 65_536, length), (16_384, .max, length),
    (16_320, 64, outside), (0, 64, outside), (16_385, 64, outside), (16_416, 64, outside),
    (19_968, 64, outside), (20_032, 64, outside), (.max & ~63, 64, outside), (16_384, 3617, outside),
  ]

  private func fault(_ read: () throws(StorageError) -> Void) -> StorageError? {
    do throws(StorageError) {
      try read()
      return nil
    } catch {
      return error
    }
  }

  @Test func `every reader refuses the same references, for the same reason`() throws {
    let bytes = [UInt8](repeating: 0, count: 20_000)
    try bytes.withUnsafeBytes { bytes in
      let base = try #require(bytes.baseAddress)
      let verified = UnsafeMutableRawPointer.allocate(byteCount: 20_000 / 64 * 2 / 8 + 16, alignment: 8)
      verified.initializeMemory(as: UInt8.self, repeating: 0, count: 20_000 / 64 * 2 / 8 + 16)
      defer { verified.deallocate() }
      let view = FileView(base: base, verified: verified, codec: UnitCodec(seed: 1), limit: 20_000)
      let loader = NodeLoader(file: view)
      for (offset, length, reason) in NodeReferenceTests.refused {
        let reference = NodeReference(offset: offset, length: length, checksum: 0)
        let subtree = Subtree(reference: reference, level: 0, entries: 1, liveBytes: 0)
        let expected = StorageError.damaged(at: offset, reason)
        #expect(fault { () throws(StorageError) in _ = try loader.root(subtree) } == expected)
        for readsDisk in [false, true] {
          let reads = VerifiedReads(loader, readsDisk: readsDisk)
          #expect(fault { () throws(StorageError) in _ = try reads.node(subtree) } == expected)
        }
        #expect(
          fault { () throws(StorageError) in _ = try NodeCopy(reference, level: 0, in: view) } == expected)
      }
      // The last that lies within the file is read, and then found to be something else.
      for (offset, length) in [(16_384, 3616), (16_384, 48), (19_904, 96), (19_904, 48)] as [(UInt64, UInt32)]
      {
        let reference = NodeReference(offset: offset, length: length, checksum: 0)
        let expected = StorageError.damaged(
          at: offset, "the length of a node contradicts the reference to it")
        #expect(
          fault { () throws(StorageError) in _ = try NodeCopy(reference, level: 0, in: view) } == expected)
        let subtree = Subtree(reference: reference, level: 0, entries: 1, liveBytes: 0)
        #expect(fault { () throws(StorageError) in _ = try loader.root(subtree) } == expected)
      }
    }
  }
}
