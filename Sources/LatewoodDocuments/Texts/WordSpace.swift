import LatewoodStore
import LatewoodText

/// The words of a full-text index in one state of the database.
struct WordSpace: TextIndexSpace {
  let source: ReadSource
  let words: Keyspace

  func value(of key: [UInt8]) throws -> [UInt8]? { try source.get(key, in: words) }

  func forEach(from key: [UInt8], _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool) throws {
    try source.forEachEntry(from: key, in: words, body)
  }
}

/// The words of a full-text index in a transaction.
struct WordChanges: WritableTextIndexSpace {
  let transaction: Transaction
  let words: Keyspace

  func value(of key: [UInt8]) throws -> [UInt8]? { try transaction.get(key, in: words) }

  func forEach(from key: [UInt8], _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool) throws {
    try transaction.forEachEntry(from: key, in: words, body)
  }

  func put(_ value: [UInt8], for key: [UInt8]) throws { try transaction.put(key, value, in: words) }
  func delete(_ key: [UInt8]) throws { try transaction.delete(key, in: words) }
}

extension Readable {
  fileprivate func forEachEntry(
    from key: [UInt8], in words: Keyspace, _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws {
    try forEach(in: words, KeyRange(lower: .included(key))) { key, value in
      try body(key.withUnsafeBytes { Array($0) }, value.withUnsafeBytes { Array($0) })
    }
  }
}
