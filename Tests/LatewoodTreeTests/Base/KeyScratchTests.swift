import LatewoodBytes
import Testing

@testable import LatewoodTree

/// Keys that a scan assembles, without the number of the keyspace. Their lengths come from nodes,
/// and a node may have changed since it was verified.
@Suite struct KeyScratchTests {
  private func joined(_ prefix: [UInt8], _ suffixes: [[UInt8]], dropping dropped: Int) throws -> [[UInt8]] {
    var scratch = KeyScratch(dropping: dropped)
    return try prefix.withUnsafeBytes { prefix in
      try scratch.start(#require(prefix.baseAddress), prefix.count)
      return try suffixes.map { suffix in
        try suffix.withUnsafeBytes { try Array(scratch.take(#require($0.baseAddress), $0.count)) }
      }
    }
  }

  @Test(arguments: [1, 3, 4, 5, 511, 512, 513, 16_000])
  func `keys of every length lose the bytes to be dropped`(prefixLength: Int) throws {
    let prefix = (0..<prefixLength).map { UInt8(truncatingIfNeeded: $0) }
    let suffixes = [4, 5, 100, 384].map { [UInt8](repeating: 9, count: $0) }
    #expect(
      try joined(prefix, suffixes, dropping: 4) == suffixes.map { Array((prefix + $0).dropFirst(4)) })
    #expect(try joined(prefix, suffixes, dropping: 0) == suffixes.map { prefix + $0 })
  }

  @Test func `a key with only the keyspace number is empty, and a shorter one is damage`() throws {
    #expect(try joined([1, 2], [[3, 4]], dropping: 4) == [[]])
    #expect(throws: StorageError.self) { _ = try joined([1, 2], [[3]], dropping: 4) }
  }

  @Test func `a key longer than any valid key is damage`() throws {
    let prefix = [UInt8](repeating: 1, count: 16_000)
    #expect(throws: StorageError.self) {
      _ = try joined(prefix, [[UInt8](repeating: 1, count: 60_000)], dropping: 4)
    }
  }
}
