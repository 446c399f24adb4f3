import LatewoodBytes
import Testing

@testable import LatewoodFile

@Suite struct UnitCodecTests {
  private let codec = UnitCodec(seed: 7)
  private let bytes = (0..<3000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

  private func withBytes(_ count: Int, _ body: (UnsafeMutableRawPointer) throws -> Void) rethrows {
    var copy = Array(bytes.prefix(count))
    try copy.withUnsafeMutableBytes { buffer in
      if let base = buffer.baseAddress { try body(base) }
    }
  }

  /// FORMAT.md, section 2.
  @Test func `the checksum of a unit is the hash of everything after it`() {
    for count in [56, 64, 3000] {
      withBytes(count) { base in
        let expected = XXH64.hash(UnsafeRawPointer(base) + 8, count - 8, seed: 7)
        #expect(codec.seal(.frame, at: 16384, base, count) == expected)
        #expect(UnsafeRawPointer(base).u64(0) == expected)
      }
    }
  }

  @Test func `a sealed unit is sound until a bit of it changes`() {
    for kind in [UnitCodec.Kind.slot, .frame, .node] {
      withBytes(200) { base in
        _ = codec.seal(kind, at: 16384, base, 200)
        #expect(codec.isSound(kind, at: 16384, base, 200))
        for at in 0..<200 {
          base.set(UnsafeRawPointer(base).u8(at) ^ 1, at: at)
          #expect(!codec.isSound(kind, at: 16384, base, 200), "byte \(at)")
          base.set(UnsafeRawPointer(base).u8(at) ^ 1, at: at)
        }
      }
    }
  }

  @Test func `pieces of a unit have the checksum of the whole, however it is cut`() {
    for count in [0, 1, 31, 32, 33, 3000] {
      let whole = Array(bytes.prefix(count))
      let expected = whole.withUnsafeBytes { XXH64.hash($0, seed: 7) }
      for cut in Set([0, 1, count / 3, count]).filter({ $0 <= count }) {
        var pieces = codec.pieces(of: .extent, at: 16384, count: count)
        whole.withUnsafeBytes { all in
          pieces.add(UnsafeRawBufferPointer(rebasing: all[..<cut]))
          pieces.add(UnsafeRawBufferPointer(rebasing: all[cut...]))
        }
        #expect(pieces.checksum == expected, "\(count) bytes, cut at \(cut)")
        #expect(pieces.extentChecksum == UInt32(truncatingIfNeeded: expected))
      }
    }
  }

  @Test func `a value moved to another file is sealed as if it had been written there`() throws {
    let other = UnitCodec(seed: 8)
    try withBytes(100) { base in
      let checksum = codec.sealExtent(at: 16384, base, 100)
      let reference = ExtentReference(offset: 16384, length: 100, checksum: checksum)
      try codec.open(reference, base)
      let moved = try codec.open(reference, base, for: other)
      #expect(other.sealExtent(at: 20000, moved) == other.sealExtent(at: 20000, base, 100))
      base.set(UInt8(0), at: 99)
      #expect(throws: StorageError.self) { try codec.open(reference, base) }
      #expect(throws: StorageError.self) { try codec.open(reference, base, for: other) }
    }
  }
}
