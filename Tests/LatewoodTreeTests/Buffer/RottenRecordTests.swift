import LatewoodBytes
import LatewoodFile
import LatewoodSimulation
import Testing

@testable import LatewoodTree

/// Records that change after they were added to the write buffer.
@Suite final class RottenRecordTests {
  private static let count = 40
  private let log = RecordLog()
  private var tree = BufferTree()
  private var offsets: [UInt64] = []

  /// All keys have the same head after the longest prefix, so every search reads records.
  private static func key(_ number: Int) -> [UInt8] {
    [0, 0, 0, 1] + [UInt8](repeating: 7, count: 60) + Array("\(100 + number)".utf8)
  }

  init() throws {
    tree.begin(version: 1)
    for number in 0..<Self.count {
      let key = Self.key(number)
      let reference = log.append(key, isDelete: number % 7 == 3)
      offsets.append(reference.offset)
      try key.withUnsafeBytes { try tree.insert($0.baseAddress!, $0.count, reference, log.space) }
    }
  }

  @Test func `a changed record is told from the original, and never traps`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    print("RottenRecordTests", random.replay)
    var passed = 0
    for round in 0..<20_000 {
      let number = random.below(Self.count)
      let address = log.memory + Int(offsets[number])
      let length = (number + 1 < Self.count ? Int(offsets[number + 1]) : log.length) - Int(offsets[number])
      let before = Array(UnsafeRawBufferPointer(start: address, count: length))
      var bytes = before
      for _ in 0...random.below(3) { bytes[random.below(length)] = UInt8(truncatingIfNeeded: random.next()) }
      if round % 4 == 0 { bytes[1 + random.below(2)] ^= 0x80 }
      if bytes == before { continue }
      address.copyMemory(from: bytes, byteCount: length)
      do throws(StorageError) {
        let root = tree.root
        var cursor = BufferCursor(root: root, space: log.space)
        let key = Self.key(number)
        try key.withStart { (start, count) throws(StorageError) in
          if let root { _ = try BufferNode(root).entry(start, count, log.space) }
          try cursor.seek(start, count)
        }
        while cursor.isValid { try cursor.next() }
        passed += 1
      } catch {
        #expect(error.kind == .damaged)
        #expect(error.offset == offsets[number])
      }
      address.copyMemory(from: before, byteCount: length)
    }
    // One in 8,192 is expected.
    #expect(passed <= 16, "\(random.replay)")
  }

  @Test func `an insertion beside a changed record is refused, and can be rolled back`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    print("RottenRecordTests", random.replay)
    let before = (tree.root, tree.entries)
    for round in 0..<300 {
      let number = random.below(Self.count)
      let address = log.memory + Int(offsets[number])
      let old = address.load(as: UInt8.self)
      address.storeBytes(of: old ^ 0x41, as: UInt8.self)
      tree.begin(version: UInt64(2 + round))
      var refusals = 0
      for added in 0..<120 {
        let key = Self.key(number) + Array("\(added)".utf8)
        let reference = log.append(key)
        do {
          try key.withUnsafeBytes { try tree.insert($0.baseAddress!, $0.count, reference, log.space) }
        } catch {
          refusals += 1
          break
        }
      }
      #expect(refusals == 1, "\(random.replay)")
      tree.abort(to: before.0, entries: before.1)
      address.storeBytes(of: old, as: UInt8.self)
      let key = Self.key(number)
      let found = try key.withUnsafeBytes { bytes in
        try tree.root.flatMap {
          try BufferNode($0).entry(bytes.baseAddress!, bytes.count, log.space)?.reference
        }
      }
      #expect(found?.offset == offsets[number])
    }
  }
}
