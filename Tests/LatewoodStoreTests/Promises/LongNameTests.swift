import LatewoodDevice
import LatewoodStore
import Testing

/// Names near the greatest length that common file systems allow, 255 bytes.
@Suite struct LongNameTests {
  private let directory: StoreDirectory
  private var options = Store.Options()

  init() throws {
    directory = try StoreDirectory()
    options.compaction = .manual
  }

  private func useUp(_ name: String, _ label: String) throws {
    let path = "\(directory.path)/\(name)"
    let store = try Store.open(at: path, options: options)
    let space = try store.keyspace("a")
    try store.put("k", "v", in: space)
    try store.compact()
    refusal(.lockedByThisProcess) { _ = try Store.open(at: path, options: options) }
    let other = "\(directory.path)/" + name.replacingFirst(with: "z")
    try store.copy(to: other)
    try FileVolume().remove(other)
    try store.backup(to: other)
    try store.put("l", "w", in: space)
    #expect(try store.backup(to: other).isIncremental, "\(label)")
    try store.close()
    let again = try Store.open(at: path, options: options)
    #expect(try again.count(in: again.keyspace("a")) == 2, "\(label)")
    try again.close()
    let names = try Directories.names(in: directory.path)
    #expect(names.filter { !$0.hasSuffix(".lock") }.count == 2, "\(label): \(names)")
    for name in names { try FileVolume().remove("\(directory.path)/\(name)") }
  }

  @Test func `a file name that can be created can be locked, compacted, copied and backed up`() throws {
    for length in [1, 100] + Array(239...255) {
      try useUp(String(repeating: "n", count: length), "\(length) bytes")
    }
  }

  @Test func `long names of multi-byte characters can be used as well`() throws {
    for name in ["é", "漢", "🌲"] {
      for filler in 0..<4 {
        let text = "a" + String(repeating: "x", count: filler)
        let count = (255 - text.utf8.count) / name.utf8.count
        try useUp(text + String(repeating: name, count: count), "\(filler) and \(count) of \(name)")
      }
    }
  }

  @Test func `a name that is too long is refused with an error that gives the limit`() throws {
    let path = directory.path + "/" + String(repeating: "n", count: 256)
    let error = refusal(.invalidName) { _ = try Store.open(at: path, options: options) }
    #expect(error?.advice.contains("255 bytes") == true, "\(error?.description ?? "")")
    #expect(try Directories.names(in: directory.path) == [])
  }
}

extension String {
  /// The same string with another first character of one byte.
  fileprivate func replacingFirst(with character: Character) -> String { String(character) + dropFirst() }
}
