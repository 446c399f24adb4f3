import LatewoodBytes
import LatewoodFile
import LatewoodSimulation
import Testing

@testable import LatewoodTree

/// The bytes of separators that branches of the write buffer keep.
@Suite struct KeyTailTests {
  private func tail(_ rest: [UInt8]) -> KeyTail {
    // Behind the key, where nothing may be read.
    (rest + [UInt8](repeating: 0xFF, count: 24)).withUnsafeBytes { KeyTail($0.baseAddress!, rest.count) }
  }

  @Test func `tails sort like their keys, and hold sixteen bytes after the head`() {
    var random = SeededRandom(seed: SeededRandom.seed())
    print("KeyTailTests", random.replay)
    for _ in 0..<20_000 {
      let shared = (0..<random.below(12)).map { _ in UInt8(random.below(3)) }
      var keys: [[UInt8]] = []
      for _ in 0..<2 {
        keys.append([1, 2, 3, 4] + shared + (0..<random.below(12)).map { _ in UInt8(random.below(3)) })
      }
      keys.sort { $0.isBefore($1) }
      #expect(!(tail(keys[1]) < tail(keys[0])), "\(keys), \(random.replay)")
      let held = keys.map { ($0 + [UInt8](repeating: 0, count: 20))[4..<20] }
      #expect((tail(keys[0]) < tail(keys[1])) == (held[0] != held[1]), "\(keys), \(random.replay)")
      var bytes = [UInt8](repeating: 9, count: 16)
      bytes.withUnsafeMutableBytes { tail(keys[0]).store(to: $0.baseAddress!) }
      #expect(bytes == Array(held[0]), "\(random.replay)")
    }
    for count in 0..<4 { #expect(!(tail([]) < tail([UInt8](repeating: 9, count: count)))) }
  }

  /// Keys of several keyspaces, as documents make them: under the root only tails tell them apart.
  @Test func `separators with changed records do not mislead searches`() throws {
    let log = RecordLog()
    var tree = BufferTree()
    tree.begin(version: 1)
    var references: [RecordReference] = []
    var keys: [[UInt8]] = []
    for space: UInt8 in 0..<4 {
      for number in 0..<1500 { keys.append([0, 0, 0, space] + Array("document-\(1_000_000 + number)".utf8)) }
    }
    for key in keys {
      let reference = log.append(key)
      references.append(reference)
      try key.withUnsafeBytes { try tree.insert($0.baseAddress!, $0.count, reference, log.space) }
    }
    let top = tree.root
    let root = try #require(top)
    // Every key but one has rotted.
    for number in stride(from: 700, to: keys.count, by: 1000) {
      let image = Array(UnsafeRawBufferPointer(start: log.memory, count: log.length))
      for (other, reference) in references.enumerated() where other != number {
        (log.memory + Int(reference.offset) + 10).storeBytes(of: 0xEE, as: UInt8.self)
      }
      let found = try keys[number].withUnsafeBytes {
        try BufferNode(root).entry($0.baseAddress!, $0.count, log.space)?.reference
      }
      #expect(found == references[number])
      log.memory.copyMemory(from: image, byteCount: image.count)
    }
  }
}
