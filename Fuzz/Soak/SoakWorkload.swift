import LatewoodBytes

/// The documents of one writer, batch by batch. Each batch follows from the number of the writer
/// and the number of the batch alone. A reader of a state can therefore derive every document of
/// this writer from the number of the last batch.
struct SoakWorkload: Sendable {
  /// The number of documents of one writer.
  static let slots = 400
  static let places = 4
  /// The intervals, in batches, at which a blob or a document that expires is added.
  static let blobEvery = 16
  static let briefEvery = 8

  let writer: Int

  static func collection(_ writer: Int) -> String { "writer\(writer)" }
  /// The collection of documents that expire.
  static let brief = "brief"
  /// The name of the local document with the number of the last batch.
  static let counter = "batch"

  static func slot(_ batch: Int, _ place: Int) -> Int { (batch &* 7919 &+ place &* 131) % slots }
  /// Returns the document that a batch deletes, if any.
  static func deleted(_ batch: Int) -> Int? { batch % 5 == 0 ? slot(batch, 9) : nil }
  static func id(_ slot: Int) -> String { "document \(slot)" }

  /// Returns the batch that last changed a document up to batch `last`, and whether it deleted the
  /// document; nil if no batch did.
  static func author(of wanted: Int, after last: Int) -> (batch: Int, isDeletion: Bool)? {
    var batch = last
    while batch > 0 {
      if deleted(batch) == wanted { return (batch, true) }
      for place in 0..<places where slot(batch, place) == wanted { return (batch, false) }
      batch -= 1
    }
    return nil
  }

  /// Returns all documents after batch `last`: for each slot, the batch that wrote it.
  static func documents(after last: Int) -> [Int: Int] {
    var authors: [Int: (batch: Int, isDeletion: Bool)] = [:]
    var batch = last
    while batch > 0, authors.count < slots {
      if let slot = deleted(batch), authors[slot] == nil { authors[slot] = (batch, true) }
      for place in 0..<places where authors[slot(batch, place)] == nil {
        authors[slot(batch, place)] = (batch, false)
      }
      batch -= 1
    }
    return authors.compactMapValues { $0.isDeletion ? nil : $0.batch }
  }

  /// Returns a body; to the database it is arbitrary bytes.
  func body(_ batch: Int, _ slot: Int) -> [UInt8] {
    let length = (batch &+ slot) % 29 == 0 ? 5000 : 40 + (batch &* 31 &+ slot) % 400
    return Array("\(writer) \(batch) \(slot) ".utf8)
      + (0..<length).map { UInt8(truncatingIfNeeded: batch &+ $0 &* 7) }
  }

  /// Returns the number of the batch that a body claims to be from.
  static func batch(ofBody body: [UInt8]) -> Int? {
    let words = body.prefix(60).split(separator: UInt8(ascii: " "), maxSplits: 2)
    return words.count < 2 ? nil : Int(String(decoding: words[1], as: UTF8.self))
  }

  /// Blobs recur, so that documents share them and sweeps remove them in between.
  static func hasBlob(_ batch: Int) -> Bool { batch % blobEvery == 0 }
  static func blob(_ batch: Int) -> [UInt8] {
    let kind = batch / blobEvery % 97
    return (0..<(20_000 + kind * 3000)).map { UInt8(truncatingIfNeeded: $0 &* (kind | 1) &+ $0 >> 8) }
  }
}
