import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Testing

/// Encrypted files into which somebody who has no key copies units of older states, of another
/// branch and of another file with the same key, and repairs all checksums.
@Suite struct SplicedFileTests {
  /// A file, and the contents of its store after each commit so far.
  private struct History {
    var bytes: [UInt8] = []
    var contents: [Content] = [[:]]
    var frames: [Range<Int>] { EncryptedUnits(of: bytes).frames }
    var nodes: [Range<Int>] { EncryptedUnits(of: bytes).nodes }

    private static let path = "spliced.latewood"

    /// Opens the store, commits a few times, and closes it.
    mutating func session(_ suite: LatewoodStore.CipherSuite, _ random: inout SeededRandom) throws {
      let volume = MemoryVolume()
      if !bytes.isEmpty { try Repository.write(bytes, to: Self.path, on: volume) }
      var numbers = SeededRandom(seed: random.next())
      let store = try Store.open(
        at: Self.path, on: volume, mode: .openOrCreate, options: .encrypted(suite, inlineValueLimit: 128),
        environment: .system)
      let space = try store.keyspace("a")
      contents.append(try store.content())
      for round in 0..<3 {
        try store.write { transaction in
          for _ in 0..<12 {
            let key = "key \(numbers.below(60))"
            if numbers.oneIn(5) {
              try transaction.delete(key, in: space)
            } else {
              let length = numbers.oneIn(4) ? 129 + numbers.below(600) : numbers.below(60)
              try transaction.put(key, numbers.bytes(length), in: space)
            }
          }
        }
        contents.append(try store.content())
        if round == 1 || numbers.oneIn(3) { try store.checkpoint() }
      }
      try store.close()
      bytes = try Repository.read(volume, Self.path)
    }

    /// Computes each checksum again, in the order in which they depend on each other.
    mutating func repair() throws {
      let units = EncryptedUnits(of: bytes)
      let codec = try bytes.withUnsafeBytes { try FileHeader.decode(from: $0).codec }
      bytes.withUnsafeMutableBytes { all in
        guard let base = all.baseAddress else { return }
        for node in units.nodes {
          _ = codec.seal(.node, at: UInt64(node.lowerBound), base + node.lowerBound, node.count)
        }
        var previous: UInt64?
        for frame in units.frames {
          let start = base + frame.lowerBound
          if let previous { start.set(previous, at: FrameHeader.Offset.previousChecksum) }
          previous = codec.seal(.frame, at: UInt64(frame.lowerBound), start, frame.count)
        }
        for index in 0..<2 {
          let offset = FileLayout.slotOffset(index)
          let length = RootSlot.length + FileCipher.trailerLength
          _ = codec.seal(.slot, at: offset, base + Int(offset), length)
        }
      }
    }

    /// Puts bytes of `other` at `offset`, as a unit that claims to belong there.
    mutating func splice(_ source: Range<Int>, of other: History, at offset: Int) {
      let count = min(source.count, bytes.count - offset)
      guard count >= 24 else { return }
      bytes.replaceSubrange(
        offset..<offset + count, with: other.bytes[source.lowerBound..<source.lowerBound + count])
      bytes.withUnsafeMutableBytes {
        $0.baseAddress?.set(UInt64(offset), at: offset + FrameHeader.Offset.ownOffset)
      }
    }

    /// Opens the store, and returns its content; nil if a part of it is refused.
    func look(_ suite: LatewoodStore.CipherSuite) throws -> Content? {
      let volume = MemoryVolume()
      try Repository.write(bytes, to: Self.path, on: volume)
      do {
        let store = try Store.open(
          at: Self.path, on: volume, mode: .readOnly, options: .encrypted(suite, inlineValueLimit: 128),
          environment: .system)
        defer { try? store.close() }
        return try store.content()
      } catch let error as StoreError where [.damaged, .wrongKey].contains(error.code) {
        return nil
      }
    }
  }

  @Test(arguments: LatewoodStore.CipherSuite.allCases)
  func `units from elsewhere are refused, or lead to one whole state of the same file`(
    _ suite: LatewoodStore.CipherSuite
  ) throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    var older = History()
    try older.session(suite, &random)
    var base = older
    try base.session(suite, &random)
    var (victim, branch, stranger) = (base, base, History())
    for _ in 0..<2 {
      try victim.session(suite, &random)
      try branch.session(suite, &random)
      try stranger.session(suite, &random)
    }
    #expect(victim.frames.count > 10 && victim.nodes.count >= 4)
    // Without a splice, the repair changes nothing.
    var same = victim
    try same.repair()
    #expect(same.bytes == victim.bytes)
    #expect(try victim.look(suite) == victim.contents.last)
    let known = victim.contents + branch.contents
    var (refused, whole) = (0, 0)
    for _ in 0..<Effort.count(3000, low: 150) {
      var spliced = victim
      for _ in 0...random.below(3) {
        let donor = random.pick([older, base, victim, branch, stranger])
        switch random.below(8) {
        case 0:
          let offset = Int(FileLayout.slotOffset(random.below(2)))
          spliced.bytes.replaceSubrange(
            offset..<offset + 256, with: donor.bytes[offset..<offset + 256])
        case 1:
          // Everything behind an offset.
          let start = random.pick(victim.frames).lowerBound
          if start < min(donor.bytes.count, spliced.bytes.count) {
            spliced.bytes.replaceSubrange(start..., with: donor.bytes[start...])
          }
        case 2, 3:
          let units = random.oneIn(2) ? donor.frames : donor.nodes
          let unit = random.pick(units)
          spliced.splice(unit, of: donor, at: unit.lowerBound)
        case 4, 5:
          spliced.splice(random.pick(donor.frames), of: donor, at: random.pick(victim.frames).lowerBound)
        default:
          spliced.splice(random.pick(donor.nodes), of: donor, at: random.pick(victim.nodes).lowerBound)
        }
      }
      if random.below(4) != 0 { try spliced.repair() }
      if let content = try spliced.look(suite) {
        whole += 1
        #expect(known.contains(content), "a state that never was; \(random.replay)")
      } else {
        refused += 1
      }
    }
    #expect(refused > whole / 4 && whole > 0, "\(refused) refused, \(whole) whole; \(random.replay)")
  }
}
