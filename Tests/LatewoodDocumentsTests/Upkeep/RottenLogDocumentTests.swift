import LatewoodDevice
import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import Testing

/// Documents whose commits no checkpoint has merged, in a file that is changed through another
/// descriptor while it is open: a read returns the right answer or an error, and nothing traps.
@Suite struct RottenLogDocumentTests {
  private static let count = 12

  private func body(_ number: Int) -> [UInt8] { bytes("body \(number) ") + [UInt8](repeating: 7, count: 30) }

  /// Does every kind of read. A typed error is an answer.
  private func readAll(_ store: DocumentStore, _ documents: CollectionHandle, _ context: String) {
    func ask(_ what: String, _ read: () throws -> Bool) {
      do {
        let isRight = try read()
        #expect(isRight, "\(context): \(what): a wrong answer")
      } catch is DatabaseError {
      } catch is StoreError {
      } catch { Issue.record("\(context): \(what): \(error)") }
    }
    for number in 0..<Self.count {
      ask("document") { try store.reads(documents).document("\(number)")?.body == body(number) }
      ask("record") { try store.reads(documents).record(of: "\(number)")?.tree.leaves.count == 1 }
    }
    ask("feed") { try store.reads(documents).changes().count == Self.count }
    ask("feed backwards") { try store.reads(documents).changes(descending: true).count == Self.count }
    ask("query") {
      var found = 0
      try store.reads(documents).forEachDocument { _, _ in
        found += 1
        return true
      }
      return found == Self.count
    }
    ask("totals") { try store.reads(documents).totals().documents == Self.count }
    ask("local") { try store.reads(documents).local("note") == bytes("n") }
    ask("verification") { try !store.verify().faults.isEmpty }
  }

  @Test func `documents read from a log with changed bytes are right or throw typed errors`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    print("RottenLogDocumentTests", random.replay)
    let directory = try TemporaryDirectory()
    var options = TestClock().options()
    options.store.checkpointsInBackground = false
    // A cache would hold copies of the log and hide the damage.
    options.store.reading = .mapped
    options.store.durability = .relaxed
    let store = try DocumentStore.open(at: directory.database, options: options)
    let documents = try store.defaultCollection()
    let device = try FileVolume().open(directory.database, .readWrite)
    defer { device.close() }
    try store.write { writer in
      for number in 0..<Self.count {
        try writer.save("\(number)", in: documents, body: body(number), parent: nil)
      }
      try writer.putLocal("note", in: documents, body: bytes("n"))
    }
    try store.sync()
    var image = [UInt8](repeating: 0, count: Int(try device.size()))
    _ = try image.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
    // After the log there may be preallocated zeros.
    let end = UInt64(image.lastIndex { $0 != 0 } ?? 0)
    func write(_ content: [UInt8], at offset: UInt64) throws {
      try content.withUnsafeBytes { try device.write($0, at: offset) }
    }
    let name = bytes("body 0 ")
    let first = UInt64(
      try #require(
        image.indices.dropLast(name.count).first { image[$0..<$0 + name.count].elementsEqual(name) }))
    for round in 0..<24 {
      let length = [1, 4, 64, 512][round % 4]
      let offset = first + UInt64(random.below(Int(end - first) - length))
      let old = Array(image[Int(offset)..<Int(offset) + length])
      var content = [UInt8](repeating: [0, 0x80, 0xFF][round % 3], count: length)
      if content == old || round % 5 == 0 { content = old.map { $0 ^ 0x15 } }
      try write(content, at: offset)
      readAll(store, documents, "\(length) bytes at \(offset), \(random.replay)")
      try write(old, at: offset)
    }
    #expect(try store.reads(documents).document("3")?.body == body(3))
    #expect(try store.verify().faults.isEmpty)
    try store.close()
  }
}
