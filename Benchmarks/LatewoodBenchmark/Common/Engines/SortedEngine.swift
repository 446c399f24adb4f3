/// A sorted array in memory, cut into chunks: the simplest engine that returns the right answers.
///
/// It validates the driver: its checksums must equal the checksums of the stores.
///
/// ```
/// lowest:  [ k0,      k7,      k15 ]
/// chunks:  [[k0...k6][k7...k14][k15...]]      each with the indexes of its values in `values`
/// ```
///
/// Invariants:
/// 1. `lowest[i]` is at most the least key of `chunks[i]` and above all keys of `chunks[i - 1]`;
///    `lowest[0]` is 0.
/// 2. A chunk has at most `capacity` keys, in ascending order. It may be empty.
///
/// It is `@unchecked Sendable`: nothing guards it, but the workloads write to an engine that is not
/// persistent from a single thread, while no other thread reads.
final class SortedEngine: BenchmarkEngine, BenchmarkSession, @unchecked Sendable {
  typealias Session = SortedEngine

  static let name = "sorted"
  static let isPersistent = false
  static let answers = true

  private struct Chunk {
    var keys: [UInt128] = []
    var places: [Int] = []
  }

  private static let capacity = 1024

  private var lowest: [UInt128] = [0]
  private var chunks = [Chunk()]
  private var values: [UInt8] = []
  private var valueLength = 0

  static func open(in directory: Directory, isDurable: Bool) -> SortedEngine { SortedEngine() }

  /// Writes directly to the engine: the workloads never roll back.
  struct Writer: BenchmarkWriter {
    let engine: SortedEngine
    func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) { engine.put(key, value) }
    func delete(_ key: UnsafeRawBufferPointer) { engine.delete(key) }
  }

  func write(_ body: (inout Writer) throws -> Void) rethrows {
    var writer = Writer(engine: self)
    try body(&writer)
  }

  func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    valueLength = value.count
    let number = Self.number(key)
    let (chunk, index, isThere) = find(number)
    if isThere {
      let place = chunks[chunk].places[index]
      values.replaceSubrange(place..<(place + valueLength), with: value)
      return
    }
    chunks[chunk].keys.insert(number, at: index)
    chunks[chunk].places.insert(values.count, at: index)
    values.append(contentsOf: value)
    if chunks[chunk].keys.count > Self.capacity { split(chunk) }
  }

  private func delete(_ key: UnsafeRawBufferPointer) {
    let (chunk, index, isThere) = find(Self.number(key))
    guard isThere else { return }
    chunks[chunk].keys.remove(at: index)
    chunks[chunk].places.remove(at: index)
  }

  func get(_ key: UnsafeRawBufferPointer, into checksum: inout some ValueSink) -> Bool {
    let (chunk, index, isThere) = find(Self.number(key))
    if isThere {
      withValue(at: chunks[chunk].places[index]) { checksum.add(value: $0) }
    }
    return isThere
  }

  func scan(from start: UnsafeRawBufferPointer, limit: Int, into checksum: inout Checksum) -> Int {
    var (chunk, index, _) = find(Self.number(start))
    var count = 0
    while chunk < chunks.count, count < limit {
      guard index < chunks[chunk].keys.count else {
        chunk += 1
        index = 0
        continue
      }
      withUnsafeBytes(of: chunks[chunk].keys[index].bigEndian) { key in
        withValue(at: chunks[chunk].places[index]) { checksum.add(key: key.bytes, value: $0) }
      }
      index += 1
      count += 1
    }
    return count
  }

  func withSnapshot<R>(_ body: (SortedEngine) throws -> R) rethrows -> R { try body(self) }

  func withSharedSnapshot(_ body: (SortedEngine) throws -> Void) rethrows { try body(self) }

  func flush() {}

  func close() {}

  // MARK: Places

  /// Returns a key as a number: keys have 16 bytes, so they sort like 128-bit numbers.
  private static func number(_ key: UnsafeRawBufferPointer) -> UInt128 {
    UInt128(bigEndian: key.loadUnaligned(as: UInt128.self))
  }

  private func find(_ key: UInt128) -> (chunk: Int, index: Int, isThere: Bool) {
    let chunk = Self.countBelow(key, in: lowest, orEqual: true) - 1
    let index = Self.countBelow(key, in: chunks[chunk].keys, orEqual: false)
    let keys = chunks[chunk].keys
    return (chunk, index, index < keys.count && keys[index] == key)
  }

  private static func countBelow(_ key: UInt128, in keys: [UInt128], orEqual: Bool) -> Int {
    var low = 0
    var high = keys.count
    while low < high {
      let middle = (low + high) / 2
      if keys[middle] < key || (orEqual && keys[middle] == key) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func split(_ chunk: Int) {
    let half = chunks[chunk].keys.count / 2
    let upper = Chunk(keys: Array(chunks[chunk].keys[half...]), places: Array(chunks[chunk].places[half...]))
    chunks[chunk].keys.removeSubrange(half...)
    chunks[chunk].places.removeSubrange(half...)
    lowest.insert(upper.keys[0], at: chunk + 1)
    chunks.insert(upper, at: chunk + 1)
  }

  private func withValue(at place: Int, _ body: (RawSpan) -> Void) {
    values.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[place..<(place + valueLength)]).bytes) }
  }
}
