import LatewoodBytes
import LatewoodQuery

/// A sink that adds up the numbers in one field.
struct TotalSink: ResultSink {
  static var isOrdered: Bool { false }

  private let field: FieldPath
  /// Adds the field of a document whose index entry does not supply it.
  private let add: (MatchedDocument, inout NumberTotal) throws -> Void
  private(set) var total: NumberTotal
  private var place = KeyColumn()

  init(
    _ field: FieldPath, isWhole: Bool,
    _ add: @escaping (MatchedDocument, inout NumberTotal) throws -> Void
  ) {
    self.field = field
    self.add = add
    total = NumberTotal(isWhole: isWhole)
  }

  mutating func covers(_ definition: IndexDefinition) -> Bool {
    guard let place = KeyColumn(of: field, in: definition) else { return false }
    self.place = place
    return true
  }

  mutating func take(_ document: MatchedDocument) throws -> Bool {
    try add(document, &total)
    return true
  }

  mutating func take(_ entry: StoredEntry) throws -> Bool? {
    guard var key = place.reader(of: entry) else { return nil }
    return total.addNext(of: &key, descending: place.isDescending) ? true : nil
  }

  mutating func take(_ entries: UnsafeBufferPointer<EntryBytes>) -> Int {
    guard place.isFirst else { return 0 }
    let isDescending = place.isDescending
    var taken = 0
    for entry in entries {
      guard let number = StoredEntry.wholeNumber(in: entry, descending: isDescending) else { break }
      total.add(whole: number)
      taken &+= 1
    }
    return taken
  }
}

/// A sink that lists the integers in one field.
struct IntegerSink: ResultSink {
  private let field: FieldPath
  /// Returns the field of a document whose index entry does not supply it.
  private let read: (MatchedDocument) throws -> Int
  private(set) var integers: [Int] = []
  private var place = KeyColumn()

  init(_ field: FieldPath, _ read: @escaping (MatchedDocument) throws -> Int) {
    self.field = field
    self.read = read
  }

  mutating func covers(_ definition: IndexDefinition) -> Bool {
    guard let place = KeyColumn(of: field, in: definition) else { return false }
    self.place = place
    return true
  }

  mutating func expect(_ count: Int) { integers.reserveCapacity(count) }

  mutating func take(_ document: MatchedDocument) throws -> Bool {
    integers.append(try read(document))
    return true
  }

  mutating func take(_ entry: StoredEntry) throws -> Bool? {
    guard var key = place.reader(of: entry),
      let integer = key.nextNumber(descending: place.isDescending)?.integral
    else { return nil }
    integers.append(integer)
    return true
  }

  mutating func take(_ entries: UnsafeBufferPointer<EntryBytes>) -> Int {
    guard place.isFirst else { return 0 }
    let isDescending = place.isDescending
    let start = integers.count
    // Appending each one individually would take longer than reading it.
    integers.append(contentsOf: repeatElement(0, count: entries.count))
    let taken = integers.withUnsafeMutableBufferPointer { integers in
      var taken = 0
      for entry in entries {
        guard let number = StoredEntry.wholeNumber(in: entry, descending: isDescending) else { break }
        integers[start + taken] = number
        taken &+= 1
      }
      return taken
    }
    integers.removeLast(entries.count - taken)
    return taken
  }
}

/// The position of a field in the keys of an index.
struct KeyColumn: Sendable {
  /// For each part of the index before the field, whether it is descending.
  private var areDescendingBefore: [Bool] = []
  private(set) var isDescending = false
  /// Whether the field is at the beginning of the key.
  private(set) var isFirst = true

  init() {}

  /// Returns nil if the field is not in the index.
  init?(of field: FieldPath, in definition: IndexDefinition) {
    guard let place = definition.partIndexes(of: [field])?[0] else { return nil }
    areDescendingBefore = definition.parts[..<place].map(\.isDescending)
    isDescending = definition.parts[place].isDescending
    isFirst = place == 0
  }

  /// Returns a reader positioned at the field of an entry; nil if the entry does not contain the
  /// whole field.
  func reader(of entry: StoredEntry) -> CollationReader? {
    guard !entry.isCut else { return nil }
    var key = CollationReader(entry.key)
    for isDescending in areDescendingBefore where !key.skip(descending: isDescending) { return nil }
    return key
  }

  /// Adds the number in an entry to a total. Returns false if the entry does not contain the number
  /// or the total does not accept it.
  @inline(__always) func add(_ entry: EntryBytes, to total: inout NumberTotal) throws(DatabaseError) -> Bool {
    if isFirst, let number = StoredEntry.wholeNumber(in: entry, descending: isDescending) {
      total.add(whole: number)
      return true
    }
    return try addOther(StoredEntry(entry), to: &total)
  }

  @inline(never) private func addOther(_ entry: StoredEntry, to total: inout NumberTotal) -> Bool {
    guard var key = reader(of: entry) else { return false }
    return total.addNext(of: &key, descending: isDescending)
  }
}
