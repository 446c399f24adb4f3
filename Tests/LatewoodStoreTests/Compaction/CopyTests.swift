import LatewoodDevice
import LatewoodStore
import LatewoodTestSupport
import Testing

/// Copies, and rewriters that a layer above sets.
@Suite struct CopyTests {
  private let directory: StoreDirectory
  private let options = Store.Options.compactedByHand

  init() throws { directory = try StoreDirectory() }

  @Test func `a copy is an independent database`() throws {
    let store = try Store.open(at: directory.store, options: options)
    let fruit = try store.keyspace("fruit")
    try fill(store, fruit)
    let path = directory.path + "/copy"
    var isFirst = true
    try store.copy(to: path) { _ in
      guard isFirst else { return }
      isFirst = false
      do { try store.put("meanwhile", "one", in: fruit) } catch { Issue.record(error) }
    }
    let content = try store.content()
    try store.put("after", "two", in: fruit)
    let copy = try Store.open(at: path, options: options)
    #expect(try copy.content() == content)
    #expect(try copy.verify().isSound)
    #expect(try copy.statistics().fileID != store.statistics().fileID)
    #expect(try copy.history().last?.isCompaction == true)
    refusal(.alreadyExists) { try store.copy(to: path) }
    try copy.close()
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    try reader.copy(to: path + "2")
    #expect(try Store.open(at: path + "2", mode: .readOnly).content() == store.content())
    #expect(try directory.others().sorted() == ["copy", "copy2"])
  }

  @Test func `a reader can copy a store that consists only of a log`() throws {
    let store = try Store.open(at: directory.store, options: options)
    try store.put("apple", "red", in: store.keyspace("fruit"))
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    try reader.copy(to: directory.path + "/copy")
    #expect(try Store.open(at: directory.path + "/copy", mode: .readOnly).content() == store.content())
  }

  @Test func `a rewriter can keep, change and drop entries`() throws {
    let store = try Store.open(at: directory.store, options: options)
    let fruit = try store.keyspace("fruit")
    let nuts = try store.keyspace("nuts")
    try fill(store, fruit)
    try store.put("walnut", "brown", in: nuts)
    var expected = try store.content()
    try store.setCompactionRewriter(for: fruit) { key, value in
      let number = key.withUnsafeBytes { $0.last ?? 0 } % 4
      switch number {
      case 0: return .drop
      case 1: return .replace([1, 2, 3])
      case 2: return .replace([UInt8](repeating: 9, count: 4000))
      default: return .keep
      }
    }
    var isFirst = true
    try store.compact { _ in
      guard isFirst else { return }
      isFirst = false
      do { for key in ["new 0", "new 1", "new 3"] { try store.put(key, "new", in: fruit) } } catch {
        Issue.record(error)
      }
    }
    for key in ["new 0", "new 1", "new 3"] { expected["fruit"]?[Array(key.utf8)] = Array("new".utf8) }
    expected["fruit"] = expected["fruit"]?.reduce(into: [:]) { result, entry in
      switch (entry.key.last ?? 0) % 4 {
      case 0: break
      case 1: result[entry.key] = [1, 2, 3]
      case 2: result[entry.key] = [UInt8](repeating: 9, count: 4000)
      default: result[entry.key] = entry.value
      }
    }
    #expect(try store.content() == expected)
    #expect(try store.verify().isSound)
    try store.setCompactionRewriter(for: fruit) { _, _ in throw OnPurpose() }
    refusal(.cancelled) { try store.compact() }
    #expect(try store.content() == expected)
    try store.setCompactionRewriter(for: fruit, nil)
    try store.compact()
    #expect(try store.content() == expected)
  }
}
