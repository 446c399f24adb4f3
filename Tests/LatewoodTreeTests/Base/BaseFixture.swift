import LatewoodBytes
import LatewoodFile
import LatewoodSimulation
import Testing

@testable import LatewoodTree

extension SeededRandom {
  /// Returns random numbers with a new seed, which it prints with the name of the test.
  static func printingSeed(_ test: String = #function) -> SeededRandom {
    let random = SeededRandom(seed: seed())
    print("\(test): \(random.replay)")
    return random
  }

  /// Random bytes with a random length in the given range.
  mutating func bytes(_ count: ClosedRange<Int>) -> [UInt8] { bytes(Int.random(in: count, using: &self)) }
}

/// The bytes of a file in memory, with space reserved at the end as in a log file.
final class MemoryFile {
  let bytes: UnsafeMutableRawPointer
  let verified: UnsafeMutableRawPointer
  let capacity: Int
  let seed: UInt64
  var codec: UnitCodec { UnitCodec(seed: seed) }
  var end: UInt64 = 16384

  init(capacity: Int = 64 << 20, seed: UInt64 = 7) {
    self.capacity = capacity
    self.seed = seed
    bytes = .allocate(byteCount: capacity, alignment: 4096)
    Self.clear(bytes, capacity)
    let proofs = Self.proofLength(capacity)
    verified = .allocate(byteCount: proofs, alignment: 64)
    Self.clear(verified, proofs)
  }

  /// The length of the proof bits, in bytes.
  private static func proofLength(_ capacity: Int) -> Int { capacity / 32 / 8 + 64 }

  /// Writes zeros, in pieces of 64 bytes: a debug build writes them one by one.
  private static func clear(_ start: UnsafeMutableRawPointer, _ count: Int) {
    start.initializeMemory(as: SIMD64<UInt8>.self, repeating: .zero, count: count / 64)
  }

  deinit {
    bytes.deallocate()
    verified.deallocate()
  }

  var view: FileView {
    FileView(base: UnsafeRawPointer(bytes), verified: verified, codec: codec, limit: end)
  }
  /// The tree itself has no keyspaces, so its tests also use shorter keys.
  var source: NodeLoader { NodeLoader(file: view, minimumKeyLength: 0) }

  /// Forgets all proofs, so that everything is verified again.
  func clearProofs() { Self.clear(verified, Self.proofLength(capacity)) }

  func writer(region: Int = 1 << 20) -> RegionWriter {
    RegionWriter(
      codec: codec, capacity: region,
      reserve: { (length: Int) throws(StorageError) -> UInt64 in
        // A frame header, as the log would write it, and the gap to the next multiple of 64.
        let start = (self.end + 56 + 63) & ~63
        self.end = start + UInt64(length)
        precondition(self.end <= UInt64(self.capacity))
        return start
      },
      write: { (piece: UnsafeRawBufferPointer, offset: UInt64) throws(StorageError) in
        guard let start = piece.baseAddress else { return }
        (self.bytes + Int(offset)).copyMemory(from: start, byteCount: piece.count)
      })
  }

  /// Appends a value to the file; returns its offset and checksum.
  func extent(_ value: [UInt8]) -> (offset: UInt64, checksum: UInt32) {
    let offset = end
    value.withUnsafeBytes {
      UnsafeMutableRawBufferPointer(start: bytes + Int(offset), count: $0.count).copyMemory(from: $0)
    }
    // Each in separate 64 bytes, because one proof bit stands for 64 bytes.
    end = (offset + UInt64(value.count) + 64) & ~63
    let sum = value.withUnsafeBytes { XXH64.hash($0, seed: seed) }
    return (offset, UInt32(truncatingIfNeeded: sum))
  }
}

/// An entry of the plain model that trees are compared with.
struct ModelEntry: Equatable {
  var key: [UInt8]
  var value: [UInt8]
  var isExtent = false
}

/// Memory for the input of a build.
final class Arena {
  private var blocks: [UnsafeMutableRawPointer] = []

  func keep(_ bytes: [UInt8]) -> UnsafeRawPointer {
    let block = UnsafeMutableRawPointer.allocate(byteCount: max(bytes.count, 1), alignment: 1)
    bytes.withUnsafeBytes {
      UnsafeMutableRawBufferPointer(start: block, count: $0.count).copyMemory(from: $0)
    }
    blocks.append(block)
    return UnsafeRawPointer(block)
  }

  deinit { for block in blocks { block.deallocate() } }
}

func builder(_ file: MemoryFile, nodeSize: Int = 8192, region: Int = 1 << 20) -> TreeBuilder {
  TreeBuilder(sink: file.writer(region: region), source: file.source, nodeSize: nodeSize, transaction: 3)
}

func append(_ entry: ModelEntry, to builder: TreeBuilder, _ file: MemoryFile, _ arena: Arena) throws {
  // A key in two pieces, like one from a node.
  let cut = entry.key.count / 2
  let place = arena.keep(entry.key)
  let key = PrefixedKey(place, cut, place + cut, entry.key.count - cut)
  if entry.isExtent {
    let (offset, checksum) = file.extent(entry.value)
    try builder.append(key, extent: offset, length: UInt64(entry.value.count), checksum: checksum)
  } else {
    try builder.append(key, inline: arena.keep(entry.value), entry.value.count)
  }
}

func build(
  _ entries: [ModelEntry], in file: MemoryFile, nodeSize: Int = 8192, region: Int = 1 << 20
) throws -> BaseTree {
  let arena = Arena()
  let builder = builder(file, nodeSize: nodeSize, region: region)
  for entry in entries { try append(entry, to: builder, file, arena) }
  let root = try builder.finish()
  withExtendedLifetime(arena) {}
  return BaseTree(root: root, source: file.source)
}

/// All entries of the tree, in order.
func contents(_ tree: BaseTree) throws -> [ModelEntry] {
  var all: [ModelEntry] = []
  var cursor = tree.cursor()
  var isThere = try cursor.first()
  while isThere {
    let value = cursor.value
    all.append(
      ModelEntry(
        key: cursor.key.bytes, value: [UInt8](try value.bytes(in: tree.source.file)), isExtent: value.isExtent
      ))
    isThere = try cursor.next()
  }
  return all
}

/// Expects a tree without faults and with this number of entries.
func expectSound(_ tree: BaseTree, entries: Int, sourceLocation: SourceLocation = #_sourceLocation) {
  let report = BaseVerify.run(tree)
  #expect(report.faults == [], sourceLocation: sourceLocation)
  #expect(report.entries == UInt64(entries), sourceLocation: sourceLocation)
  #expect(tree.count == UInt64(entries), sourceLocation: sourceLocation)
}

/// Keys of a shape: short and binary, with long common prefixes, with equal heads, huge.
func randomKeys(_ count: Int, shape: Int, _ numbers: inout SeededRandom) -> [[UInt8]] {
  var keys: Set<[UInt8]> = []
  let common = [UInt8](repeating: 0x61, count: Int.random(in: 20...300, using: &numbers))
  while keys.count < count {
    var key: [UInt8]
    switch shape {
    case 0: key = numbers.bytes(1...3)
    case 1:
      key = common.dropLast(Int.random(in: 0...3, using: &numbers))
      key += numbers.bytes(1...8)
    case 2:
      key = [0, 0, 0, 1, 9, 9, 9, 9] + numbers.bytes(0...6).map { $0 & 1 } + numbers.bytes(3...3)
    case 3:
      key = [UInt8](repeating: 0, count: Int.random(in: 1...40, using: &numbers))
      if Bool.random(using: &numbers) { key.append(UInt8.random(in: 0...3, using: &numbers)) }
      key += numbers.bytes(0...2)
    case 4:
      let length = [1, 5, 4000, 16388].randomElement(using: &numbers) ?? 1
      key = [UInt8](repeating: 7, count: length)
      for at in 0..<min(length, 4) { key[length - 1 - at] = UInt8.random(in: 0...255, using: &numbers) }
    default:
      key = numbers.bytes(20...20)
    }
    keys.insert(key)
  }
  return keys.sorted { $0.isBefore($1) }
}

func randomEntries(_ count: Int, shape: Int, _ numbers: inout SeededRandom) -> [ModelEntry] {
  randomKeys(count, shape: shape, &numbers).map { key in
    let isExtent = Int.random(in: 0..<10, using: &numbers) == 0
    let length =
      isExtent ? Int.random(in: 0...900, using: &numbers) : Int.random(in: 0...150, using: &numbers)
    return ModelEntry(key: key, value: numbers.bytes(length...length), isExtent: isExtent)
  }
}
