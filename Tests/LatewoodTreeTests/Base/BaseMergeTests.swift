import LatewoodBytes
import LatewoodFile
import LatewoodSimulation
import Testing

@testable import LatewoodTree

@Suite struct BaseMergeTests {
  @Test(arguments: [(256, 0), (256, 1), (512, 2), (1024, 3), (8192, 4), (512, 5), (8192, 5)])
  func `a tree that reuses subtrees equals one built from scratch`(nodeSize: Int, shape: Int) throws {
    var numbers = SeededRandom.printingSeed()
    let file = MemoryFile(capacity: 128 << 20)
    var model: [[UInt8]: ModelEntry] = [:]
    let start = shape == 4 ? 200 : 2500
    for entry in randomEntries(start, shape: shape, &numbers) { model[entry.key] = entry }
    var tree = try build(sorted(model), in: file, nodeSize: nodeSize)
    for round in 0..<12 {
      let before = sorted(model)
      let old = tree
      let (changes, dropped) = randomChanges(before, shape, &numbers, &model)
      var merge = PlainMerge(file, nodeSize: nodeSize, changes: changes, dropped: dropped)
      tree = try merge.run(old)
      let after = sorted(model)
      expectSound(tree, entries: after.count)
      #expect(try contents(tree) == after, "round \(round)")
      let fill = try Fill(tree, nodeSize: nodeSize)
      // Huge keys make nodes of any length.
      if shape != 4 { #expect(fill.underfull == 0, "round \(round) of \(fill.nodes) nodes") }
      try expectDiff(old, tree, before, after)
    }
  }

  private func sorted(_ model: [[UInt8]: ModelEntry]) -> [ModelEntry] {
    model.values.sorted { $0.key.isBefore($1.key) }
  }

  private func randomChanges(
    _ before: [ModelEntry], _ shape: Int, _ numbers: inout SeededRandom, _ model: inout [[UInt8]: ModelEntry]
  ) -> ([(key: [UInt8], entry: ModelEntry?)], (low: [UInt8], high: [UInt8])?) {
    var dropped: (low: [UInt8], high: [UInt8])?
    if Int.random(in: 0..<3, using: &numbers) == 0, before.count > 10 {
      let low = Int.random(in: 0..<before.count, using: &numbers)
      let high = Int.random(in: low..<before.count, using: &numbers)
      dropped = (before[low].key, before[high].key)
      for entry in before[low..<high] { model[entry.key] = nil }
    }
    var changes: [[UInt8]: ModelEntry?] = [:]
    let number = [0, 1, 5, 60, 400].randomElement(using: &numbers) ?? 1
    for entry in randomEntries(min(number, shape == 4 ? 20 : 400), shape: shape, &numbers) {
      changes[entry.key] = .some(entry)
    }
    for entry in before.shuffled(using: &numbers).prefix(number) {
      if Bool.random(using: &numbers) {
        changes[entry.key] = .some(nil)
      } else {
        let value = numbers.bytes(0...200)
        changes[entry.key] = .some(ModelEntry(key: entry.key, value: value))
      }
    }
    for (key, entry) in changes { model[key] = entry }
    return (changes.map { ($0.key, $0.value) }.sorted { $0.0.isBefore($1.0) }, dropped)
  }

  private func expectDiff(
    _ old: BaseTree, _ new: BaseTree, _ before: [ModelEntry], _ after: [ModelEntry]
  ) throws {
    var was: [[UInt8]: ModelEntry] = [:]
    for entry in before { was[entry.key] = entry }
    var expected: Set<[UInt8]> = Set(before.map(\.key)).subtracting(after.map(\.key))
    for entry in after where was[entry.key] != entry { expected.insert(entry.key) }
    var found: [[UInt8]] = []
    var diff = BaseDiff(from: old, to: new)
    #expect(
      try diff.run { change in
        found.append(change.key.bytes)
        return true
      })
    #expect(found == found.sorted { $0.isBefore($1) })
    // An extent that was written again at another offset would count as changed; there are no
    // extents here.
    #expect(Set(found) == expected)
  }

  @Test func `one change writes one path, and a diff reads little more`() throws {
    var numbers = SeededRandom.printingSeed()
    let file = MemoryFile(capacity: 128 << 20)
    let entries = randomEntries(60_000, shape: 5, &numbers).map { ModelEntry(key: $0.key, value: $0.value) }
    let old = try build(entries, in: file)
    let end = file.end
    let entry = ModelEntry(key: entries[30_000].key, value: [1, 2, 3])
    var merge = PlainMerge(file, nodeSize: 8192, changes: [(entry.key, entry)])
    let new = try merge.run(old)
    #expect(file.end - end <= UInt64(new.height + 2) * 8300)
    expectSound(new, entries: entries.count)
    var diff = BaseDiff(from: old, to: new)
    var changes = 0
    #expect(
      try diff.run { _ in
        changes += 1
        return true
      })
    #expect(changes == 1)
    #expect(diff.nodesRead <= 2 * new.height + 4)
    var stopped = BaseDiff(from: old, to: new)
    #expect(try !stopped.run { _ in false })
  }

  @Test func `a tree that is adopted whole is the same tree and writes nothing`() throws {
    var numbers = SeededRandom.printingSeed()
    let file = MemoryFile()
    let old = try build(randomEntries(3000, shape: 5, &numbers), in: file)
    let end = file.end
    var merge = PlainMerge(file, nodeSize: 8192, changes: [])
    #expect(try merge.run(old).root == old.root)
    #expect(file.end == end)
  }

  @Test func `keys that do not ascend are refused`() throws {
    let file = MemoryFile(capacity: 1 << 20)
    let arena = Arena()
    let builder = builder(file)
    try append(ModelEntry(key: [2, 1], value: []), to: builder, file, arena)
    for key: [UInt8] in [[2, 1], [2], [1, 9, 9]] {
      #expect(throws: StorageError.self) {
        try append(ModelEntry(key: key, value: []), to: builder, file, arena)
      }
    }
  }
}
