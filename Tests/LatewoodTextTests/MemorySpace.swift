import LatewoodText

/// Keys and values in memory, in chunks of sorted arrays. Counts reads and writes.
final class MemorySpace: WritableTextIndexSpace {
  typealias Entry = (key: [UInt8], value: [UInt8])

  private var chunks: [[Entry]] = [[]]
  private(set) var putCount = 0
  private(set) var deleteCount = 0
  /// The number of values that were read, by the kind of their keys.
  var reads: [Unicode.Scalar: Int] = [:]
  /// The keys whose values were read.
  var readKeys: Set<[UInt8]> = []

  private static let chunkCount = 256

  var changeCount: Int { putCount + deleteCount }

  var entries: [Entry] { chunks.flatMap { $0 } }

  var byteCount: Int { entries.reduce(0) { $0 + $1.key.count + $1.value.count } }

  /// Returns the position of the first key that is not less than `key`.
  private func position(of key: [UInt8]) -> (chunk: Int, index: Int) {
    var (low, high) = (0, chunks.count - 1)
    while low < high {
      let middle = (low + high + 1) / 2
      if let first = chunks[middle].first, !key.lexicographicallyPrecedes(first.key) {
        low = middle
      } else {
        high = middle - 1
      }
    }
    let chunk = low
    (low, high) = (0, chunks[chunk].count)
    while low < high {
      let middle = (low + high) / 2
      if chunks[chunk][middle].key.lexicographicallyPrecedes(key) { low = middle + 1 } else { high = middle }
    }
    return (chunk, low)
  }

  private func note(_ key: [UInt8]) {
    reads[Unicode.Scalar(key.first ?? 0), default: 0] += 1
    readKeys.insert(key)
  }

  func value(of key: [UInt8]) -> [UInt8]? {
    note(key)
    let (chunk, index) = position(of: key)
    guard index < chunks[chunk].count, chunks[chunk][index].key == key else { return nil }
    return chunks[chunk][index].value
  }

  func forEach(from key: [UInt8], _ body: ([UInt8], [UInt8]) throws -> Bool) rethrows {
    var (chunk, index) = position(of: key)
    while chunk < chunks.count {
      while index < chunks[chunk].count {
        let entry = chunks[chunk][index]
        note(entry.key)
        guard try body(entry.key, entry.value) else { return }
        index += 1
      }
      (chunk, index) = (chunk + 1, 0)
    }
  }

  func put(_ value: [UInt8], for key: [UInt8]) {
    putCount += 1
    let (chunk, index) = position(of: key)
    if index < chunks[chunk].count, chunks[chunk][index].key == key {
      chunks[chunk][index].value = value
      return
    }
    chunks[chunk].insert((key, value), at: index)
    guard chunks[chunk].count > MemorySpace.chunkCount else { return }
    let half = Array(chunks[chunk][(MemorySpace.chunkCount / 2)...])
    chunks[chunk].removeSubrange((MemorySpace.chunkCount / 2)...)
    chunks.insert(half, at: chunk + 1)
  }

  func delete(_ key: [UInt8]) {
    let (chunk, index) = position(of: key)
    guard index < chunks[chunk].count, chunks[chunk][index].key == key else { return }
    deleteCount += 1
    chunks[chunk].remove(at: index)
    if chunks[chunk].isEmpty, chunks.count > 1 { chunks.remove(at: chunk) }
  }
}
