import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodSimulation
import LatewoodTree

/// Bytes as nodes of a tree, at the offsets that they have in a file: validated, searched, iterated
/// in both directions and verified.
///
/// The input is a list of nodes, each after its length in two bytes; the last is the root. Unless
/// the first byte is odd, lengths, offsets, checksums and the references of branches to earlier
/// nodes are corrected first, so that only the contents of the nodes can be wrong.
final class NodeTarget: FuzzTarget {
  private static let seed: UInt64 = 7
  private static let first = 16384
  private static let limit = 1 << 20
  private static let none: [UInt8] = []

  private let file: MemoryRange
  private let space: AddressSpace
  /// The number of bytes that the previous input has used.
  private var used = 0

  init() {
    do {
      file = try MemoryRange(capacities: [1 << 30])
      space = try AddressSpace.over(file)
    } catch {
      fatalError("\(error)")
    }
  }

  func run(_ input: UnsafeRawBufferPointer) {
    guard input.count > 3, input.count < Self.limit / 4 else { return }
    guard let root = place([UInt8](input)) else { return }
    clearProofs()
    let view = FileView(
      base: UnsafeRawPointer(file.base), verified: space.verified, codec: UnitCodec(seed: Self.seed),
      limit: UInt64(used))
    let version = Version(
      number: 1, transaction: 1, base: root, active: BufferState(), frozen: nil, known: ValidatedKeyspaces(),
      file: view, mapping: space)
    let report = version.verifyBase(progress: nil)
    clearProofs()
    read(version, isSound: report.faults.isEmpty, entries: report.entries)
  }

  /// Puts the nodes into the file and returns the root, if there is one.
  private func place(_ input: [UInt8]) -> Subtree? {
    let isRepaired = input[0] & 1 == 0
    var at = 1
    var offset = Self.first
    var places: [(offset: Int, length: Int)] = []
    while at + 2 <= input.count, places.count < 64 {
      let length = min(Int(input[at]) | Int(input[at + 1]) << 8, input.count - at - 2)
      at += 2
      guard length >= 48 else { break }
      let node = file.base + offset
      for index in 0..<length { node.set(input[at + index], at: index) }
      at += length
      if isRepaired { repair(node, offset, length, places) }
      places.append((offset, length))
      offset = (offset + length + 63) & ~63
    }
    used = offset
    guard let root = places.last else { return nil }
    let bytes = UnsafeRawPointer(file.base + root.offset)
    return Subtree(
      reference: NodeReference(
        offset: UInt64(root.offset), length: UInt32(root.length), checksum: bytes.u32(0)),
      level: bytes.u8(9), entries: 1 << 40, liveBytes: 0)
  }

  private func repair(
    _ node: UnsafeMutableRawPointer, _ offset: Int, _ length: Int, _ places: [(offset: Int, length: Int)]
  ) {
    let source = UnsafeRawPointer(node)
    node.set(UInt32(length), at: 12)
    node.set(UInt64(offset), at: 16)
    if source.u8(8) == 2, !places.isEmpty {
      for index in 0..<min(Int(source.u16(10)), (length - 40) / 32) {
        let child = 40 + 32 * index
        let place = places[Int(source.u8(child)) % places.count]
        node.set(UInt64(place.offset), at: child)
        node.set(UInt32(place.length), at: child + 8)
        node.set(UnsafeRawPointer(file.base + place.offset).u32(0), at: child + 12)
      }
    }
    node.set(XXH64.hash(source + 8, length - 8, seed: Self.seed), at: 0)
  }

  private func clearProofs() {
    for word in 0...(used / 64 * 2 / 64) { space.verified.set(UInt64(0), at: word * 8) }
  }

  private func read(_ version: Version, isSound: Bool, entries: UInt64) {
    let reads = version.reads
    var forward: [[UInt8]] = []
    var budget = 5000
    tolerate {
      try scan(reads, isReversed: false) { key, value in
        forward.append(key)
        budget -= 1 + value.count / 256
        return budget > 0
      }
      if isSound, budget > 0, forward.count != Int(entries) {
        find("a sound tree shows other entries than it counts")
      }
    }
    var backward: [[UInt8]] = []
    tolerate {
      budget = 5000
      try scan(reads, isReversed: true) { key, value in
        backward.append(key)
        budget -= 1 + value.count / 256
        return budget > 0
      }
    }
    guard isSound else { return }
    if budget > 0, backward.reversed() != forward { find("a sound tree shows other entries backwards") }
    for (index, key) in forward.enumerated() where index % 7 == 0 {
      do {
        let value = try key.withUnsafeBytes { bytes in
          try bytes.baseAddress.flatMap { try reads.find($0, bytes.count) }
        }
        if value == nil { find("a key of a sound tree is not found") }
      } catch {
        find("a sound tree cannot be searched: \(error)")
      }
    }
  }

  private func scan(
    _ reads: ReadView, isReversed: Bool, _ body: (_ key: [UInt8], _ value: UnsafeRawBufferPointer) -> Bool
  ) throws {
    _ = try ([0] as [UInt8]).withUnsafeBytes { low in
      try ([UInt8](repeating: 255, count: 16389)).withUnsafeBytes { high in
        try reads.scan(low: low, high: high, dropping: 0, isReversed: isReversed, pin: nil) { key, value in
          key.withUnsafeBytes { key in value.withUnsafeBytes { body([UInt8](key), $0) } }
        }
      }
    }
  }
}
