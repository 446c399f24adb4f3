import LatewoodBytes
import LatewoodTree

/// Verifies the catalog of keyspaces of one state against FORMAT.md, section 9, and that every
/// entry is in a keyspace listed in the catalog.
///
/// Readers skip entries in a keyspace without a name, so these are harmless. But writers never
/// leave such entries behind, and they are the only sign that the name of a keyspace was lost. They
/// are therefore faults. Keys of keyspace 0 that are not in the table of that section are reserved
/// for later versions and are not faults.
///
/// O(keyspaces x log n).
struct CatalogVerify {
  private struct Named {
    var name: [UInt8]
    var number: UInt32
    var offset: UInt64
  }

  private let version: Version
  private var names: [Named] = []
  private var numbers: [UInt32: (name: [UInt8], offset: UInt64)] = [:]
  private var counter: UInt32? = 1
  private var faults: [VerifyFault] = []

  private init(_ version: Version) { self.version = version }

  /// Returns the faults of the catalog, and the damage in the tree if it could not be read to the
  /// end.
  static func run(_ version: Version) -> (faults: [VerifyFault], damage: StorageError?) {
    let pin = version.file.pin()
    defer { withExtendedLifetime(pin) {} }
    var verify = CatalogVerify(version)
    do throws(StorageError) {
      try verify.gather()
      verify.compare()
      try verify.findUnnamed()
      return (verify.faults, nil)
    } catch {
      return (verify.faults, error)
    }
  }

  private mutating func note(_ offset: UInt64, _ what: String) {
    if faults.count < VerifyReport.faultLimit { faults.append(VerifyFault(offset: offset, what: what)) }
  }

  // MARK: Reading it

  private mutating func gather() throws(StorageError) {
    let high = Catalog.firstKey(of: Catalog.keyspace + 1)
    var cursor = MergedCursor(version.reads)
    try cursor.seek(Catalog.firstKey(of: Catalog.keyspace))
    while cursor.isValid {
      let full = try cursor.fullKey()
      guard full.lexicographicallyPrecedes(high) else { break }
      try gather(FullKey.rest(of: full), cursor.value())
      try cursor.next()
    }
  }

  private mutating func gather(_ key: [UInt8], _ value: UnsafeRawBufferPointer) {
    let offset = offset(of: value)
    let rest = Array(key.dropFirst())
    if key == Catalog.counterKey {
      counter = number(value)
      if counter == nil || counter == 0 {
        note(
          offset, "the catalog's counter of keyspaces (c) is not a number: no new keyspace can be made")
        counter = nil
      }
    } else if key.first == Catalog.nameTag {
      guard let number = number(value) else {
        return note(
          offset,
          "the catalog's entry n \(shown(rest)) has \(value.count) bytes instead of 4: the keyspace cannot be opened"
        )
      }
      names.append(Named(name: rest, number: number, offset: offset))
    } else if key.first == Catalog.numberTag, rest.count == 4 {
      let number = rest.reduce(0) { $0 << 8 | UInt32($1) }
      numbers[number] = (Array(value), offset)
    }
  }

  private func number(_ value: UnsafeRawBufferPointer) -> UInt32? {
    guard value.count == 4, let start = value.baseAddress else { return nil }
    return start.u32(0)
  }

  /// The file offset of a value. Every value of a version lies in the file.
  private func offset(of value: UnsafeRawBufferPointer) -> UInt64 {
    guard let start = value.baseAddress else { return 0 }
    return UInt64(clamping: start - version.file.base)
  }

  /// A name for a message: shortened, and with control characters escaped.
  private func shown(_ name: [UInt8]) -> String {
    let text = String(decoding: name.prefix(80), as: UTF8.self).debugDescription
    return name.count > 80 ? text + "..." : text
  }

  // MARK: Comparing its entries

  private mutating func compare() {
    var named: Set<UInt32> = []
    for entry in names {
      named.insert(entry.number)
      compare(entry)
    }
    for (number, entry) in numbers.sorted(by: { $0.key < $1.key }) where !named.contains(number) {
      note(
        entry.offset,
        "the catalog's entry i \(number) names the keyspace \(shown(entry.name)), which has no entry n of that number: "
          + "its content cannot be reached")
    }
  }

  private mutating func compare(_ entry: Named) {
    let name = shown(entry.name)
    if entry.name.isEmpty || entry.name.count > Catalog.maximumNameLength {
      note(entry.offset, "the catalog's entry n \(name) has a name of \(entry.name.count) bytes")
    } else if String(validating: entry.name, as: UTF8.self) == nil {
      note(
        entry.offset, "the catalog's entry n \(name) has a name that is not UTF-8: no name opens the keyspace"
      )
    }
    guard entry.number > 0, entry.number <= Catalog.maximumNumber else {
      return note(
        entry.offset, "the catalog's entry n \(name) has the number \(entry.number), which is not valid")
    }
    if let counter, entry.number >= counter {
      note(
        entry.offset,
        "the keyspace \(name) has the number \(entry.number), and the catalog's counter (c) is at \(counter): "
          + "a new keyspace would get its entries")
    }
    guard let other = numbers[entry.number] else {
      return note(
        entry.offset,
        "the keyspace \(name) has no entry i \(entry.number) in the catalog: it cannot be told from a dropped one"
      )
    }
    if other.name != entry.name {
      note(
        other.offset,
        "the catalog's entry i \(entry.number) names the keyspace \(shown(other.name)), and its entry n \(name) has "
          + "that number too: the keyspace cannot be told from a dropped one")
    }
  }

  // MARK: Looking for entries without a name

  private mutating func findUnnamed() throws(StorageError) {
    // A keyspace whose name was lost has been reported above.
    let known = Set(names.map(\.number)).union(numbers.keys)
    let view = version.reads
    var cursor = MergedCursor(view)
    var last = Catalog.keyspace
    try cursor.seek(Catalog.firstKey(of: last + 1))
    while cursor.isValid, faults.count < VerifyReport.faultLimit {
      let number = try cursor.fullKey().prefix(FullKey.prefixLength).reduce(0) { $0 << 8 | UInt32($1) }
      // Only a leaf that changes during the scan can be out of order without an error.
      guard number > last else { break }
      last = number
      let low = Catalog.firstKey(of: number)
      // No key is greater, because a full key has at most 16,388 bytes.
      let high = number < .max ? Catalog.firstKey(of: number + 1) : [UInt8](repeating: 0xFF, count: 16_389)
      if !known.contains(number) {
        let count = try view.count(low: low, high: high)
        note(
          offset(of: try cursor.value()),
          "the catalog does not name the keyspace \(number): its \(count) entries cannot be reached")
      }
      if number == .max { break }
      try cursor.seek(high)
    }
  }
}
