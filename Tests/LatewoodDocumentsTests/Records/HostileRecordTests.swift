import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// Records that writers never produce, in a file whose checksums are all right.
@Suite struct HostileRecordTests {
  private func revision(_ text: String) -> RevisionID {
    bytes(text).withUnsafeBytes { RevisionID(editing: nil, isDeleted: false, body: $0) }
  }

  private func leaf(_ text: String) -> RevisionTree.Node {
    RevisionTree.Node(id: revision(text), parent: -1, isLeaf: true, isDeleted: false, body: 0)
  }

  /// Returns a record of first revisions, each a leaf.
  private func record(_ texts: [String]) -> [UInt8] {
    var tree = RevisionTree()
    for text in texts { tree.nodes.append(leaf(text)) }
    return DocumentRecord(sequence: 7, tree: tree).encoded()
  }

  private func decode(_ bytes: [UInt8]) throws { _ = try bytes.withUnsafeBytes { try DocumentRecord($0) } }

  @Test func `no read goes past the end of the bytes`() throws {
    try bytes("abc").withUnsafeBytes { all in
      let part = UnsafeRawBufferPointer(rebasing: all[..<2])
      var source = try #require(UntrustedBytes(part, what: "the record"))
      #expect(throws: DatabaseError.self) { _ = try source.bytes(3) }
      #expect(try Array(source.bytes(2)) == bytes("ab"))
      #expect(throws: DatabaseError.self) { _ = try source.byte() }
      #expect(throws: DatabaseError.self) { _ = try source.bytes(1) }
      #expect(source.isAtEnd)
    }
  }

  @Test func `generation 0 is refused`() throws {
    try [UInt8](repeating: 0, count: 4).withUnsafeBytes { all in
      var source = try #require(UntrustedBytes(all, what: "the record"))
      #expect(throws: DatabaseError.self) { _ = try source.generation() }
    }
  }

  @Test func `the winner must be first, revisions unique, and conflicts flagged`() throws {
    let sound = record(["a", "b"])
    try decode(sound)
    let (head, branch) = (3, 22)
    #expect(sound.count == head + 2 * branch)
    let swapped = sound[..<head] + sound[(head + branch)...] + sound[head..<(head + branch)]
    refusal(.corruptRevisionData) { try decode(Array(swapped)) }
    var twice = Array(sound[..<(head + branch)] + sound[head..<(head + branch)])
    // Clear the conflict flag: two equal revisions are not a conflict, and that would hide the
    // fault tested here.
    twice[1] = 0
    refusal(.corruptRevisionData) { try decode(twice) }
    var silent = sound
    silent[1] ^= DocumentRecord.Flag.hasConflicts
    refusal(.corruptRevisionData) { try decode(silent) }
  }

  @Test func `a body in a record must be whole, not empty, and have one position and one owner`() throws {
    func encoded(_ body: [UInt8], others: Int = 0, place: UInt64 = 7) throws -> [UInt8] {
      var tree = RevisionTree()
      for number in 0...others { tree.nodes.append(leaf("leaf \(number)")) }
      for index in tree.nodes.indices { tree.nodes[index].body = 90 + UInt64(index) }
      let winner = try #require(tree.winnerIndex)
      tree.nodes[winner].body = place
      return DocumentRecord(sequence: 7, tree: tree, body: body).encoded()
    }
    let sound = try encoded(bytes("body"))
    let lengthAt = 3
    #expect(sound[1] == DocumentRecord.Flag.holdsBody && sound[lengthAt] == 4)
    let record = try sound.withUnsafeBytes { try DocumentRecord($0) }
    #expect(record.body == bytes("body") && record.tree.winner?.body == 7)
    let head = try sound.withUnsafeBytes { try DocumentRecord.Head($0) }
    #expect(head == record.head && head.bodyLength == 4 && head.body == 7)
    func refuse(_ bytes: [UInt8]) {
      refusal(.corruptRevisionData) { try decode(bytes) }
      refusal(.corruptRevisionData) { _ = try bytes.withUnsafeBytes { try DocumentRecord.Head($0) } }
    }
    // Every shorter record is refused by the full reader, and no reader reads past the end.
    for count in sound.indices {
      refusal(.corruptRevisionData) { try decode(Array(sound[..<count])) }
      _ = try? Array(sound[..<count]).withUnsafeBytes { try DocumentRecord.Head($0) }
    }
    var empty = sound
    empty[lengthAt] = 0
    refuse(empty)
    // One byte more than follows the winner, exactly as many as follow it, and far more.
    for length in [UInt8(4 + 1), UInt8(sound.count - lengthAt - 1), 0x7F] {
      var greedy = sound
      greedy[lengthAt] = length
      refuse(greedy)
    }
    var huge: [UInt8] = []
    huge.append(varint: .max)
    refuse(Array(sound[..<lengthAt] + huge + sound[(lengthAt + 1)...]))
    // The winner also contains a position.
    refuse(try encoded(bytes("body"), place: 8))
    // Another revision claims the same position.
    let two = try encoded(bytes("body"), others: 1)
    try decode(two)
    var stolen = two
    let place = try #require(two.firstIndex { $0 == 90 || $0 == 91 })
    stolen[place] = 7
    refusal(.corruptRevisionData) { try decode(stolen) }
    // Sequences start at 1.
    var nowhere = sound
    nowhere[2] = 0
    refuse(nowhere)
  }

  @Test func `a text digest has exactly one valid encoding`() throws {
    func record(_ text: String) throws -> [UInt8] {
      var tree = RevisionTree()
      try tree.insert(history: [RevisionID(text)], isDeleted: false, body: 0)
      return DocumentRecord(sequence: 7, tree: tree).encoded()
    }
    func entry(_ text: String) throws -> [UInt8] {
      let head = try record(text).withUnsafeBytes { try DocumentRecord.Head($0) }
      return SequenceEntry(sequence: 7, id: "id", head: head).encoded()
    }
    func decodeEntry(_ bytes: [UInt8]) throws -> SequenceEntry {
      try SequenceEntry.key(7).withUnsafeBytes { key in
        try bytes.withUnsafeBytes { try SequenceEntry(key: key, value: $0) }
      }
    }
    let longest = String(repeating: "Z", count: 46)
    for text in ["1-x", "10-5ac", "3-" + String(repeating: "y", count: 20), "1-" + longest] {
      let head = try record(text).withUnsafeBytes { try DocumentRecord.Head($0) }
      #expect("\(head.winner)" == text)
      let told = try decodeEntry(entry(text))
      #expect("\(told.revision)" == text && told.id == "id")
    }
    // Hexadecimal digits, control characters, invalid UTF-8, an end within a character.
    let (sound, told) = (try record("1-wxyz"), try entry("1-wxyz"))
    let (place, toldPlace) = (sound.count - 4, 3)
    for bad in [
      bytes("5a5a"), [1, 2, 3, 4], [0, 0, 0, 0], [0xFF, 0x61, 0x62, 0x63], [0x78, 0x78, 0x78, 0xC3],
    ] {
      var hostile = sound
      hostile.replaceSubrange(place..<(place + 4), with: bad)
      refusal(.corruptRevisionData) { try decode(hostile) }
      refusal(.corruptRevisionData) { _ = try hostile.withUnsafeBytes { try DocumentRecord.Head($0) } }
      var entry = told
      entry.replaceSubrange(toldPlace..<(toldPlace + 4), with: bad)
      refusal(.corruptData) { _ = try decodeEntry(entry) }
    }
    // Invalid lengths of a text: zero, one more than the longest, and more than the remaining
    // bytes.
    for length: UInt8 in [0, 47, 255] {
      var hostile = sound + [UInt8](repeating: 0x78, count: 70)
      hostile[place - 1] = length
      refusal(.corruptRevisionData) { try decode(hostile) }
      hostile = sound
      hostile[place - 1] = length
      refusal(.corruptRevisionData) { try decode(hostile) }
      var entry = told + [UInt8](repeating: 0x78, count: 70)
      entry[toldPlace - 1] = length
      if length < 255 { refusal(.corruptData) { _ = try decodeEntry(entry) } }
    }
    // A text of 33 bytes or more without its flag is not a valid digest.
    var unflagged = try record("1-" + longest)
    unflagged[4] &= ~DocumentRecord.NodeFlag.isText
    refusal(.corruptRevisionData) { try decode(unflagged) }
  }

  @Test func `the counts of a collection leave room for further counting`() throws {
    let counts: [WritableKeyPath<CollectionState, UInt64>] = [
      \.lastSequence, \.documents, \.tombstones, \.bodies, \.bodyBytes, \.superseded, \.references,
      \.indexes, \.indexChanges, \.views, \.texts,
    ]
    for count in counts {
      var state = CollectionState(CollectionIdentity(random: { 5 }))
      state[keyPath: count] = (1 << 62) - 1
      #expect(try state.encoded().withUnsafeBytes { try CollectionState($0) } == state)
      for number in [1 << 62, 1 << 63, .max] as [UInt64] {
        state[keyPath: count] = number
        refusal(.corruptData) { _ = try state.encoded().withUnsafeBytes { try CollectionState($0) } }
      }
    }
  }

  @Test func `a missing body is reported`() throws {
    let store = try DocumentStore.inMemory()
    try store.save("document", String(repeating: "a", count: DocumentRecord.bodyLimit + 1))
    let name = try #require(try store.collectionNames().first)
    let bodies = try store.store.keyspace("bodies/\(name)")
    try store.store.write { try $0.deleteRange(.all, in: bodies) }
    let faults = try store.verify().faults
    #expect(faults.contains { "\($0)".contains("its body is missing") }, "\(faults)")
  }
}
