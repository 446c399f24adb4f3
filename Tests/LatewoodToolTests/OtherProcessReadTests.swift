import LatewoodBytes
import LatewoodStore
import LatewoodTerminal
import Testing

@testable import LatewoodTool

/// A process in the middle of a scan, while this process frees as much as possible of the data
/// being read.
@Suite struct OtherProcessReadTests {
  private static let count = 200
  /// Large enough that the pipe and the buffers of the tool cannot hold all values.
  private static let length = 20_000

  private let place: Workplace
  private let path: String

  init() throws {
    place = try Workplace()
    path = place("db")
  }

  private func open() throws -> Store {
    var options = Store.Options()
    options.nodeSize = 4096
    options.compaction = .manual
    options.checkpointsInBackground = false
    options.punchingThreshold = 4096
    return try Store.open(at: path, options: options)
  }

  private func fill(_ store: Store, _ character: Character) throws {
    let space = try store.keyspace("a")
    try store.write { transaction in
      for number in 0..<Self.count {
        // Some values are in leaves, and most where their commit wrote them.
        let length = number % 3 == 0 ? 40 : Self.length
        try transaction.put(
          "key \(number)", String(repeating: character, count: length), in: space)
      }
    }
    try store.checkpoint()
  }

  /// Starts a process that prints everything, and blocks in the middle until its output is read.
  private func startReading() throws -> (child: ChildProcess, start: [UInt8]) {
    let child = try ChildProcess(try BuiltTool.path(), arguments: ["export", path, "--keyspace", "a"])
    return (child, try child.output.readSome())
  }

  /// Overwrites everything several times, freeing space; returns the number of bytes that were
  /// punched out.
  private func overwriteAll(compacting: Bool) throws -> UInt64 {
    let store = try open()
    for character in "bcdef" {
      try fill(store, character)
      if compacting { try store.compact() }
    }
    let punched = try store.statistics().punchedBytes
    try store.close()
    return punched
  }

  @Test(arguments: [false, true], [false, true])
  func `data that another process is reading stays unchanged, even during a compaction`(
    compacting: Bool, isWriterThere: Bool
  ) throws {
    let store = try open()
    try fill(store, "a")
    if !isWriterThere { try store.close() }
    let expected = BuiltTool.run(["export", path, "--keyspace", "a"])
    #expect(expected.code == .success && expected.output.utf8.count > Self.count * Self.length / 2)
    let (child, start) = try startReading()
    if isWriterThere { try store.close() }
    let punched = try overwriteAll(compacting: compacting)
    // A compaction leaves the file of the reader alone, and punches holes in another one.
    if !compacting { #expect(punched == 0) }
    let output = start + (try child.output.readAll())
    #expect(try child.wait() == 0)
    #expect(start.count < output.count / 4, "it stood still in the middle")
    // Not a separate expectation, because computing the difference of two texts of this length
    // takes minutes.
    let isSame = output == Array(expected.output.utf8)
    #expect(isSame)
    #expect(BuiltTool.run(["verify", path]).code == .success)
  }

  @Test func `space is freed once the reading process has ended`() throws {
    let store = try open()
    try fill(store, "a")
    let (child, _) = try startReading()
    try fill(store, "b")
    try fill(store, "c")
    #expect(try store.statistics().punchedBytes == 0)
    try child.kill()
    #expect(try child.wait() == nil)
    try fill(store, "d")
    try fill(store, "e")
    let punched = try store.statistics().punchedBytes
    try store.close()
    if punched == 0 { print("OtherProcessReadTests: no holes on this file system") }
  }
}
