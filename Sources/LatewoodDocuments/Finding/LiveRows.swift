/// Ordered rows. A copy shares everything except later changes, so a result of 100,000 rows changes
/// in microseconds even while the previous result is still in use.
///
/// The rows are in chunks of at most `chunkSize`. A change copies the references in one chunk and
/// the list of chunks: O(chunkSize + n / chunkSize).
struct LiveOrder: Sendable {
  private static var chunkSize: Int { 256 }

  private var chunks: [[LiveRowKey]] = []
  /// The number of rows up to the end of each chunk.
  private var ends: [Int] = []

  init() {}

  /// - Parameter rows: the rows, in order.
  init(sorted rows: [LiveRowKey]) {
    // Half full, to leave space for insertions.
    for start in stride(from: 0, to: rows.count, by: Self.chunkSize / 2) {
      chunks.append(Array(rows[start..<min(start + Self.chunkSize / 2, rows.count)]))
    }
    count(from: 0)
  }

  var count: Int { ends.last ?? 0 }

  subscript(index: Int) -> LiveRowKey {
    let chunk = chunk(of: index)
    return chunks[chunk][index - start(of: chunk)]
  }

  /// Returns the number of the chunk that contains an index.
  private func chunk(of index: Int) -> Int {
    var (low, high) = (0, ends.count)
    while low < high {
      let middle = (low + high) / 2
      if ends[middle] <= index { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func start(of chunk: Int) -> Int { chunk == 0 ? 0 : ends[chunk - 1] }

  /// Counts a row that was added to a chunk, or removed from it.
  private mutating func shift(from chunk: Int, by change: Int) {
    for place in chunk..<ends.count { ends[place] += change }
  }

  /// Counts the rows of a chunk and all later ones.
  private mutating func count(from chunk: Int) {
    ends.removeLast(max(0, ends.count - chunk))
    var end = ends.last ?? 0
    for chunk in chunks[chunk...] {
      end += chunk.count
      ends.append(end)
    }
  }

  /// Returns the first row that does not precede another one: its chunk, and its position in the
  /// chunk.
  private func place(of row: LiveRowKey) -> (chunk: Int, offset: Int) {
    var (low, high) = (0, chunks.count)
    while low < high {
      let middle = (low + high) / 2
      if chunks[middle].last?.precedes(row) == true { low = middle + 1 } else { high = middle }
    }
    guard low < chunks.count else { return (low, 0) }
    var (first, end) = (0, chunks[low].count)
    while first < end {
      let middle = (first + end) / 2
      if chunks[low][middle].precedes(row) { first = middle + 1 } else { end = middle }
    }
    return (low, first)
  }

  /// Returns the index of a row, or the index at which it would be inserted.
  func index(of row: LiveRowKey) -> Int {
    let (chunk, offset) = place(of: row)
    return start(of: chunk) + offset
  }

  /// Inserts a row. Returns its index.
  @discardableResult
  mutating func insert(_ row: LiveRowKey) -> Int {
    var (chunk, offset) = place(of: row)
    if chunk == chunks.count {
      // The row goes after all others.
      if chunk == 0 {
        chunks.append([])
        ends.append(0)
      } else {
        chunk -= 1
      }
      offset = chunks[chunk].count
    }
    chunks[chunk].insert(row, at: offset)
    let index = start(of: chunk) + offset
    if chunks[chunk].count > Self.chunkSize {
      let half = Array(chunks[chunk].suffix(Self.chunkSize / 2))
      chunks[chunk].removeLast(half.count)
      chunks.insert(half, at: chunk + 1)
      count(from: chunk)
    } else {
      shift(from: chunk, by: 1)
    }
    return index
  }

  /// Removes a row if it is present. Returns the index that it had, or would have had.
  @discardableResult
  mutating func remove(_ row: LiveRowKey) -> Int {
    let (chunk, offset) = place(of: row)
    let index = start(of: chunk) + offset
    guard chunk < chunks.count, offset < chunks[chunk].count, chunks[chunk][offset] === row else {
      return index
    }
    chunks[chunk].remove(at: offset)
    shift(from: chunk, by: -1)
    if chunks[chunk].count < Self.chunkSize / 8 { join(chunk) }
    return index
  }

  /// Joins a small chunk with the previous one (the first with the next) if both fit into half a
  /// chunk.
  private mutating func join(_ chunk: Int) {
    let left = max(0, chunk - 1)
    if left + 1 < chunks.count, chunks[left].count + chunks[left + 1].count <= Self.chunkSize / 2 {
      chunks[left] += chunks.remove(at: left + 1)
      count(from: left)
    } else if chunks[chunk].isEmpty {
      chunks.remove(at: chunk)
      count(from: chunk)
    }
  }

  mutating func removeLast() -> LiveRowKey? {
    guard let last = chunks.last?.last else { return nil }
    remove(last)
    return last
  }
}

/// The ordered rows of a result: see ``LiveOrder``.
package struct LiveRows<Value: Sendable>: Sendable {
  private var order: LiveOrder

  package init() { order = LiveOrder() }

  /// - Parameter rows: the rows, in order.
  init(sorted rows: [LiveRow<Value>]) { order = LiveOrder(sorted: rows) }

  package var count: Int { order.count }

  package subscript(index: Int) -> LiveRow<Value> { row(order[index]) }

  /// Returns the index of a row, or the index at which it would be inserted.
  func index(of row: LiveRow<Value>) -> Int { order.index(of: row) }

  /// Inserts a row. Returns its index.
  @discardableResult
  mutating func insert(_ row: LiveRow<Value>) -> Int { order.insert(row) }

  /// Removes a row if it is present. Returns the index that it had, or would have had.
  @discardableResult
  mutating func remove(_ row: LiveRow<Value>) -> Int { order.remove(row) }

  mutating func removeLast() -> LiveRow<Value>? { order.removeLast().map { row($0) } }

  // SAFETY: only functions of this type put rows into the order.
  private func row(_ key: LiveRowKey) -> LiveRow<Value> { unsafeDowncast(key, to: LiveRow<Value>.self) }
}
