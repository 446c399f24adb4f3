/// Finds the first of equal rows for DISTINCT, in parts that fit into memory.
///
/// All rows are added for each part, in the same order. A part has the rows whose keys are in the
/// range from `start` to before `end`, except those that an earlier part has given. When the keys
/// of a part exceed the memory, the last ones are dropped, and the first dropped key becomes `end`.
/// The next part starts there. The rows from `end` on that this part has already given are those
/// before the place at which the keys were dropped:
///
/// ```
/// keys     start ........ end ................. end before ........
/// given    in this part   before place 9,000    before place 4,000
/// ```
///
/// If all keys fit, there is one part, and rows are given when they are added.
struct SQLDistinct {
  private let memory: Int
  /// The keys of this part so far.
  private var known: Set<[UInt8]> = []
  private(set) var byteCount = 0
  private var start: [UInt8] = []
  private var end: [UInt8]?
  /// The place of the next row among all rows.
  private var place = 0
  /// For all keys from a bound up to the next bound, the number of first rows that have been given.
  /// In order.
  private var given: [(bound: [UInt8], places: Int)] = []

  /// - Parameter memory: about the most memory for the keys of a part, in bytes.
  init(memory: Int) { self.memory = memory }

  /// Adds the next row. Returns whether it is to be given now.
  mutating func add(_ key: [UInt8]) -> Bool {
    defer { place += 1 }
    if Constant.order(key, start) < 0 { return false }
    if let end, Constant.order(key, end) >= 0 { return false }
    guard known.insert(key).inserted else { return false }
    byteCount += key.count + SQLMemory.entry
    let isGiven = place < givenCount(key)
    if byteCount > memory { cut() }
    return !isGiven
  }

  /// Returns the number of first rows that earlier parts have given, if they have a key.
  private func givenCount(_ key: [UInt8]) -> Int {
    given.last { Constant.order($0.bound, key) <= 0 }?.places ?? 0
  }

  /// Drops the last keys, down to half of the memory.
  private mutating func cut() {
    let keys = known.sorted { Constant.order($0, $1) < 0 }
    guard keys.count > 1 else { return }
    var (kept, keptBytes) = (0, 0)
    repeat {
      keptBytes += keys[kept].count + SQLMemory.entry
      kept += 1
    } while kept < keys.count - 1 && keptBytes < memory / 2
    give(from: keys[kept])
    end = keys[kept]
    known = Set(keys[..<kept])
    byteCount = keptBytes
  }

  /// Notes that all rows so far with keys from a bound up to the end of the part have been given.
  private mutating func give(from bound: [UInt8]) {
    let before = givenCount(bound)
    let first = given.firstIndex { Constant.order($0.bound, bound) >= 0 } ?? given.count
    if first == given.count || given[first].bound != bound { given.insert((bound, before), at: first) }
    for index in first..<given.count {
      if let end, Constant.order(given[index].bound, end) >= 0 { break }
      given[index].places = max(given[index].places, place + 1)
    }
  }

  /// Begins the next part. Returns false if there is none.
  mutating func beginNextPart() -> Bool {
    guard let end else { return false }
    (start, self.end) = (end, nil)
    known = []
    (byteCount, place) = (0, 0)
    return true
  }
}
