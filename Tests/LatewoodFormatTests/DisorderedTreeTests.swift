import LatewoodBytes
import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodFile
@testable import LatewoodTree

/// Trees whose leaves are sound but exchanged. Every read ends, and delivers keys in order until it
/// notices the damage.
@Suite struct DisorderedTreeTests {
  private static let count = 300
  private static let names = ["a", "b", "c"]
  private let sound: FileSurgery
  private let children: Int

  private static func key(_ number: Int) -> [UInt8] { Array("key \(1000 + number)".utf8) }

  init() throws {
    let volume = SimulatedVolume()
    let store = try CrashScript.open(volume)
    let spaces = try Self.names.map { try store.keyspace($0) }
    try store.write { transaction in
      for number in 0..<Self.count {
        let value = [UInt8](repeating: 1, count: number == 3 ? 2000 : 20)
        try transaction.put(Self.key(number), value, in: spaces[number * spaces.count / Self.count])
      }
    }
    try store.checkpoint()
    try store.close()
    sound = try FileSurgery(volume.liveBytes(of: CrashScript.path))
    let frame = try #require(sound.frames(.checkpoint).last)
    let root = try #require(try sound.checkpoint(at: frame.ownOffset).root)
    try #require(root.level == 1)
    children = sound.bytes.withUnsafeBytes { all in
      all.baseAddress.map { Node(validated: $0 + Int(root.reference.offset)).count } ?? 0
    }
    try #require(children > 6)
  }

  /// Opens a file in which children of the root were exchanged, or one occurs twice.
  private func open(_ i: Int, _ j: Int, isTwice: Bool) throws -> Store {
    var surgery = sound
    _ = try surgery.changeRoot { node in
      let first = node + NodeLayout.arrays + i * NodeLayout.childLength
      let second = node + NodeLayout.arrays + j * NodeLayout.childLength
      let old = Array(UnsafeRawBufferPointer(start: first, count: NodeLayout.childLength))
      first.copyMemory(from: second, byteCount: NodeLayout.childLength)
      if !isTwice { UnsafeMutableRawBufferPointer(start: second, count: old.count).copyBytes(from: old) }
    }
    let volume = SimulatedVolume()
    try volume.place(surgery.bytes, at: CrashScript.path)
    return try CrashScript.open(volume)
  }

  /// Closes a store, whose last checkpoint may find the damage.
  private func close(_ store: Store) throws {
    do { try store.close() } catch let error as StoreError where error.code == .damaged {
    }
  }

  /// Makes all reads that follow the order of keys. Returns whether one noticed damage.
  private func readAll(_ store: Store) throws -> Bool {
    var hasDamage = false
    func attempt(_ body: () throws -> Void) throws {
      do { try body() } catch let error as StoreError where error.code == .damaged { hasDamage = true }
    }
    for name in Self.names {
      for isReversed in [false, true] {
        var last: [UInt8]?
        /// Returns whether to continue: true as long as the keys are in order.
        func isNext(_ key: [UInt8]) -> Bool {
          defer { last = key }
          guard let last else { return true }
          let isInOrder =
            isReversed ? key.lexicographicallyPrecedes(last) : last.lexicographicallyPrecedes(key)
          #expect(isInOrder, "\(String(decoding: key, as: UTF8.self)) in \(name)")
          return isInOrder
        }
        try attempt {
          let space = try store.keyspace(name)
          try store.forEach(in: space, reversed: isReversed) { key, _ in
            isNext(key.withUnsafeBytes { Array($0) })
          }
        }
        last = nil
        try attempt {
          let cursor = try store.cursor(in: store.keyspace(name))
          var isThere = try isReversed ? cursor.seekLast() : cursor.seekFirst()
          while isThere, isNext(try cursor.key()) {
            isThere = try isReversed ? cursor.previous() : cursor.next()
          }
        }
      }
      for number in stride(from: 0, to: Self.count, by: 7) {
        let key = Self.key(number)
        try attempt {
          let cursor = try store.cursor(in: store.keyspace(name))
          if try cursor.seek(to: key) {
            #expect(try !cursor.key().lexicographicallyPrecedes(key), "\(number)")
          }
        }
        try attempt {
          let cursor = try store.cursor(in: store.keyspace(name))
          if try cursor.seek(before: key) {
            #expect(try cursor.key().lexicographicallyPrecedes(key), "\(number)")
          }
        }
      }
    }
    return hasDamage
  }

  /// A read may end before it meets a leaf that is out of order; a verification always does.
  @Test(arguments: [false, true]) func `any two leaves in each other's place are damage`(
    _ isTwice: Bool
  ) throws {
    var (noticed, pairs) = (0, 0)
    for i in 0..<children {
      for j in 0..<children where j != i && (isTwice || i < j) {
        let store = try open(i, j, isTwice: isTwice)
        if try readAll(store) { noticed += 1 }
        pairs += 1
        #expect(try store.verify().faults != [], "\(i) and \(j)")
        try close(store)
      }
    }
    #expect(noticed * 2 > pairs)
  }

  /// A scan passes a deleted range with seeks, which the same damage could turn back.
  @Test func `scans past deleted ranges end, in every order of leaves`() throws {
    var numbers = SeededRandom(seed: SeededRandom.seed())
    for i in 0..<children {
      for j in i + 1..<children {
        let store = try open(i, j, isTwice: false)
        for _ in 0..<12 {
          let low = numbers.below(Self.count)
          let high = min(low + 1 + numbers.below(40), Self.count)
          do {
            let space = try store.keyspace(Self.names[numbers.below(3)])
            try store.write { transaction in
              try transaction.deleteRange(.between(Self.key(low), Self.key(high)), in: space)
            }
          } catch let error as StoreError where error.code == .damaged {
          }
          _ = try readAll(store)
        }
        try close(store)
      }
    }
  }

  /// The bound of the range leads to the leaf in the middle, and the next leaf back into the range.
  @Test(arguments: [false, true]) func `a scan gets past a deleted range over leaves that were swapped`(
    _ isReversed: Bool
  ) throws {
    var tried = 0
    for middle in 1..<children - 1 {
      let keys = try (middle - 1...middle + 1).flatMap { try leafKeys($0) }
      guard let number = keys[0].prefix(4).last, keys.allSatisfy({ $0[3] == number && $0[3] > 0 }) else {
        continue
      }
      let (low, high) =
        try isReversed
        ? (leafKeys(middle).first, leafKeys(middle + 1).last)
        : (leafKeys(middle - 1).first, leafKeys(middle).last)
      let store = try open(middle - 1, middle + 1, isTwice: false)
      let space = try store.keyspace(Self.names[Int(number) - 1])
      let range = KeyRange.between(
        Array(try #require(low).dropFirst(4)), Array(try #require(high).dropFirst(4)) + [0])
      try store.write { try $0.deleteRange(range, in: space) }
      #expect(try readAll(store))
      try close(store)
      tried += 1
    }
    #expect(tried > 1)
  }

  /// Between a separator and where it should be, a seek continues in a neighbour without such a
  /// key.
  @Test(arguments: [-1, 1]) func `a seek beside a misplaced separator finds a key on its side`(
    _ step: Int
  ) throws {
    var noticed = 0
    for child in 1..<children {
      let (before, after) = try (leafKeys(child - 1).last, leafKeys(child).first)
      guard let before, let after, before.prefix(4) == after.prefix(4) else { continue }
      var surgery = sound
      _ = try surgery.changeRoot { node in
        let branch = Node(validated: node)
        let cell = Int(branch.slots.u16(2 * child))
        let count = Int(UnsafeRawPointer(node).u8(cell))
        let last = node + cell + count
        last.set(UInt8(truncatingIfNeeded: Int(UnsafeRawPointer(last).u8(0)) + step), at: 0)
        let head = KeyOrder.head(UnsafeRawPointer(node + cell + 1), count)
        (node + (branch.heads - UnsafeRawPointer(node))).set(head, at: 4 * child)
      }
      let volume = SimulatedVolume()
      try volume.place(surgery.bytes, at: CrashScript.path)
      let store = try CrashScript.open(volume)
      let space = try store.keyspace(Self.names[Int(after[3]) - 1])
      for full in [before, before + [0], after, after + [0]] {
        let key = Array(full.dropFirst(4))
        for isBefore in [false, true] {
          let cursor = try store.cursor(in: space)
          do {
            guard try isBefore ? cursor.seek(before: key) : cursor.seek(to: key) else { continue }
            #expect(try cursor.key().lexicographicallyPrecedes(key) == isBefore)
          } catch let error as StoreError where error.code == .damaged {
            noticed += 1
          }
        }
      }
      try close(store)
    }
    #expect(noticed > 0)
  }

  /// The full keys of a leaf.
  private func leafKeys(_ child: Int) throws -> [[UInt8]] {
    let root = try sound.root().reference
    return sound.bytes.withUnsafeBytes { all in
      guard let base = all.baseAddress else { return [] }
      let reference = Node(validated: base + Int(root.offset)).childReference(child)
      let leaf = Node(validated: base + Int(reference.offset))
      return (0..<leaf.count).map { leaf.key($0).bytes }
    }
  }
}
