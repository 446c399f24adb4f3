import LatewoodBytes
import LatewoodFile
import LatewoodSimulation
import Testing

@testable import LatewoodTree

/// Memory that replaces the log: records one after the other.
final class RecordLog {
  static let capacity = 64 << 20
  let memory = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
  var length = 16384
  deinit { memory.deallocate() }

  /// The records have no extents, so proof bits are not used.
  var space: RecordSpace {
    RecordSpace(
      FileView(base: memory, verified: memory, codec: UnitCodec(seed: 1), limit: UInt64(Self.capacity)))
  }

  func append(_ key: [UInt8], isDelete: Bool = false) -> RecordReference {
    let offset = length
    let value: [UInt8] = [1, 2, 3]
    memory.storeBytes(
      of: isDelete ? OperationCode.delete : OperationCode.put, toByteOffset: offset, as: UInt8.self)
    length += 1
    length += Varint.write(UInt64(key.count), to: memory + length)
    if !isDelete { length += Varint.write(UInt64(value.count), to: memory + length) }
    for byte in key + (isDelete ? [] : value) {
      memory.storeBytes(of: byte, toByteOffset: length, as: UInt8.self)
      length += 1
    }
    return RecordReference(LogRecord(trusted: memory + offset), at: UInt64(offset))
  }
}

@Suite struct BufferTreeTests {
  /// A full key, which has at least five bytes.
  private static func key(_ random: inout SeededRandom, _ style: Int) -> [UInt8] {
    // Several keyspaces share only few bytes, but their keys share many.
    [0, 0, 0, style == 3 ? UInt8.random(in: 1...4, using: &random) : 1] + rest(&random, style)
  }

  private static func rest(_ random: inout SeededRandom, _ style: Int) -> [UInt8] {
    switch style {
    case 0: return Array(String(100_000 + Int.random(in: 0..<20_000, using: &random)).utf8)
    case 1:  // long common prefixes and runs of equal heads, also of the least and the greatest
      let byte: UInt8 = Int.random(in: 0..<2, using: &random) == 0 ? 7 : Bool.random(using: &random) ? 0 : 255
      return Array(repeating: byte, count: Int.random(in: 1...70, using: &random))
        + (0..<Int.random(in: 0...3, using: &random)).map { _ in UInt8.random(in: 0...2, using: &random) }
    case 3:  // sequences, and names that differ behind their heads, some of them also behind their tails
      let number = Int.random(in: 0..<4000, using: &random)
      if Bool.random(using: &random) { return [0, 0, 0, 0, 0, 0, UInt8(number >> 8), UInt8(number & 255)] }
      return Array("document-\(1_000_000 + number / 5)".utf8) + [0, 0, 1, 0, 2][..<(number % 5)]
    default:
      return (0..<Int.random(in: 1...6, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random)
      }
    }
  }

  @Test(arguments: 0..<8) func `a buffer agrees with a dictionary through versions, aborts and reclamation`(
    _ run: Int
  )
    throws
  {
    let seed = SeededRandom.seed()
    print("BufferTreeTests seed \(seed)")
    var random = SeededRandom(seed: seed)
    let log = RecordLog()
    let space = log.space
    var tree = BufferTree()
    var reclaim = BufferReclaim()
    var model: [[UInt8]: RecordReference] = [:]
    var version: UInt64 = 0
    var held: (root: UnsafeMutableRawPointer?, model: [[UInt8]: RecordReference], version: UInt64)?
    for round in 0..<120 {
      if round % 7 == 0 {
        tree.reclaim(&reclaim, published: version, live: (held.map { [$0.version] } ?? []) + [version])
      }
      version += 1
      tree.begin(version: version)
      let before = (tree.root, tree.entries, model)
      var sequential = Int.random(in: 0..<20_000, using: &random)
      let isSequential = Int.random(in: 0..<4, using: &random) == 0
      var keys = (0..<Int.random(in: 1...200, using: &random)).map { _ in
        if !isSequential { return Self.key(&random, run % 4) }
        sequential += 1
        return Array(String(100_000 + sequential).utf8)
      }
      // Ascending keys between those of earlier versions, some twice.
      if round % 3 == 0 { keys.sort { $0.lexicographicallyPrecedes($1) } }
      for key in keys {
        let reference = log.append(key, isDelete: Int.random(in: 0..<5, using: &random) == 0)
        try key.withUnsafeBytes { try tree.insert($0.baseAddress!, $0.count, reference, space) }
        model[key] = reference
      }
      if Int.random(in: 0..<5, using: &random) == 0 {
        tree.abort(to: before.0, entries: before.1)
        model = before.2
        version -= 1
      }
      #expect(tree.entries == model.count)
      if round % 50 == 10 { held = (tree.root, model, version) }
      if round % 50 == 45 { held = nil }
      if round % 10 == 0 {
        try check(tree.root, model, space, &random, run % 4)
        if let held { try check(held.root, held.model, space, &random, run % 4) }
      }
    }
  }

  @Test func `an unpublished version keeps its nodes despite later commits`() throws {
    let log = RecordLog()
    let space = log.space
    var random = SeededRandom(seed: 5)
    var tree = BufferTree()
    var reclaim = BufferReclaim()
    var model: [[UInt8]: RecordReference] = [:]
    var waiting: (root: UnsafeMutableRawPointer?, model: [[UInt8]: RecordReference])?
    for version: UInt64 in 1...6 {
      // Only the first version has been published.
      if version > 1 { tree.reclaim(&reclaim, published: 1, live: [1]) }
      tree.begin(version: version)
      for number in 0..<300 {
        let key = Array(String(100_000 + number).utf8)
        let reference = log.append(key)
        try key.withUnsafeBytes { try tree.insert($0.baseAddress!, $0.count, reference, space) }
        model[key] = reference
      }
      if version == 2 { waiting = (tree.root, model) }
      if let waiting { try check(waiting.root, waiting.model, space, &random, 0) }
    }
  }

  /// A search touches the first bytes of a node before it knows how long the node is.
  @Test func `every node under a branch is as long as the bytes that a search touches`() throws {
    let log = RecordLog()
    let space = log.space
    var tree = BufferTree()
    // Each version copies the last leaf, which has few entries after a split at the end.
    for version: UInt64 in 1...600 {
      tree.begin(version: version)
      let key = Array(String(100_000 + version).utf8)
      let reference = log.append(key)
      try key.withUnsafeBytes { try tree.insert($0.baseAddress!, $0.count, reference, space) }
      if let root = tree.root { checkLengths(under: BufferNode(root)) }
    }
    #expect(tree.root.map { BufferNode($0).isBranch } == true)
  }

  private func checkLengths(under node: BufferNode) {
    guard node.isBranch else { return }
    for index in 0..<node.count {
      let child = node.child(index)
      let length = BufferNode.length(capacity: child.capacity, isBranch: child.isBranch)
      #expect((length + 63) & ~63 >= BufferNode.touchedLength)
      checkLengths(under: child)
    }
  }

  private func check(
    _ root: UnsafeMutableRawPointer?, _ model: [[UInt8]: RecordReference], _ space: RecordSpace,
    _ random: inout SeededRandom, _ style: Int
  ) throws {
    if let root { checkLengths(under: BufferNode(root)) }
    let sorted = model.keys.sorted { $0.isBefore($1) }
    var cursor = BufferCursor(root: root, space: space)
    let zero: [UInt8] = [0]
    try zero.withUnsafeBytes { try cursor.seek($0.baseAddress!, 0) }
    var seen: [[UInt8]] = []
    while cursor.isValid {
      let key = Array(UnsafeRawBufferPointer(start: cursor.key, count: cursor.keyCount))
      #expect(model[key] == cursor.reference)
      seen.append(key)
      try cursor.next()
    }
    #expect(seen == sorted)
    let end = [UInt8](repeating: 255, count: 100)
    try end.withUnsafeBytes { try cursor.seekBefore($0.baseAddress!, $0.count) }
    seen = []
    while cursor.isValid {
      seen.append(Array(UnsafeRawBufferPointer(start: cursor.key, count: cursor.keyCount)))
      try cursor.previous()
    }
    #expect(seen == sorted.reversed())
    for _ in 0..<50 {
      let key = Self.key(&random, style)
      let found = try key.withUnsafeBytes { bytes in
        try root.flatMap { try BufferNode($0).entry(bytes.baseAddress!, bytes.count, space)?.reference }
      }
      #expect(found == model[key])
      try key.withUnsafeBytes { try cursor.seek($0.baseAddress!, $0.count) }
      let next = sorted.first { !$0.isBefore(key) }
      #expect(cursor.isValid == (next != nil))
      if cursor.isValid {
        #expect(Array(UnsafeRawBufferPointer(start: cursor.key, count: cursor.keyCount)) == next)
      }
    }
  }
}
