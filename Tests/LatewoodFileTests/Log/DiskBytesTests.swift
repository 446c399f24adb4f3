import LatewoodBytes
import LatewoodDevice
import Testing

@testable import LatewoodFile

@Suite struct DiskBytesTests {
  private final class Disk {
    let size: Int
    var blocks: [UInt64] = []

    init(size: Int) { self.size = size }

    func byte(at offset: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: offset &* 31 &+ offset >> 8) }

    func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
      let count = max(0, min(target.count, size - Int(offset)))
      for at in 0..<count { target[at] = byte(at: offset + UInt64(at)) }
      for at in stride(from: 0, to: count, by: directAlignment) { blocks.append(offset + UInt64(at)) }
      return count
    }
  }

  private func bytes(of disk: Disk, size: UInt64? = nil, readsAhead: Bool = true) -> DiskBytes {
    DiskBytes(
      codec: UnitCodec(seed: 1), size: size ?? UInt64(disk.size), capacity: 64 << 10, readsAhead: readsAhead
    ) { disk.read(into: $0, at: $1) }
  }

  @Test func `no block of a long range is read twice, wherever the range begins`() throws {
    for start in [0, 100, 4095, 40_000] as [UInt64] {
      let disk = Disk(size: 300_000)
      var at = start
      try bytes(of: disk).eachPiece(of: start..<start + 200_000) { piece in
        #expect(zip(piece, at...).allSatisfy { $0 == disk.byte(at: $1) })
        at += UInt64(piece.count)
      }
      #expect(at == start + 200_000)
      #expect(Set(disk.blocks).count == disk.blocks.count, "from \(start)")
    }
  }

  @Test func `only the blocks that are needed are read, unless reads are sequential`() throws {
    let disk = Disk(size: 300_000)
    let bytes = bytes(of: disk, readsAhead: false)
    _ = try bytes.bytes(at: 100_000, 40)
    _ = try bytes.bytes(at: 100_040, 100)
    #expect(disk.blocks.count == 1)
    _ = try bytes.bytes(at: 200_000, 5000)
    #expect(disk.blocks.count == 4)
    _ = try bytes.bytes(at: 208_900, 40)
    #expect(disk.blocks.count == 4 + (64 << 10) / directAlignment)
  }

  @Test func `a frame or a value that would end behind the file is none`() throws {
    let bench = try LogBench()
    let (log, _) = try bench.open()
    try log.commit([("a", [UInt8](repeating: 1, count: 100))])
    let codec = log.header.codec
    log.close()
    let stored = try bench.bytes()
    func part(below size: UInt64) -> DiskBytes {
      DiskBytes(codec: codec, size: size, capacity: 64 << 10, readsAhead: false) { target, offset in
        let rest = stored.dropFirst(Int(offset)).prefix(target.count)
        target.copyBytes(from: rest)
        return rest.count
      }
    }
    let whole = try #require(try part(below: UInt64(stored.count)).frameHeader(at: FileLayout.logStart))
    let end = try #require(whole.requiredEnd)
    for size in [end, end - 1, end + 8] {
      let bytes = part(below: size)
      #expect(try bytes.frameHeader(at: FileLayout.logStart) == (size < end ? nil : whole), "\(size)")
      for reference in [
        ExtentReference(offset: size - 3, length: 4, checksum: 0),
        ExtentReference(offset: .max - 3, length: 8, checksum: 0),
        ExtentReference(offset: 16384, length: .max, checksum: 0),
      ] {
        #expect(faultKind { _ = try bytes.storedRange(of: reference) } == .damaged)
      }
    }
  }

  @Test func `bytes at the end of the file are returned as far as there are any`() throws {
    let disk = Disk(size: 10_000)
    let bytes = bytes(of: disk)
    #expect(try bytes.some(at: 9000, 5000).count == 1000)
    #expect(try bytes.some(at: 9000, 10).count == 10)
    #expect(try bytes.some(at: 10_000, 10).isEmpty)
    #expect(try bytes.some(at: 50_000, 10).isEmpty)
    #expect(try bytes.withBytes(at: 9990, count: 11) { _ in } == nil)
    #expect(try bytes.withBytes(at: 9990, count: 10) { $0.u8(9) } == disk.byte(at: 9999))
  }

  @Test func `a file that is shorter on the disk than it should be is damaged`() throws {
    let bytes = bytes(of: Disk(size: 10_000), size: 100_000)
    #expect(try bytes.some(at: 9000, 5000).count == 1000)
    #expect(faultKind { _ = try bytes.bytes(at: 9000, 1001) } == .damaged)
    #expect(faultKind { try bytes.eachPiece(of: 0..<90_000) { _ in } } == .damaged)
  }
}
