/// The expected content of a database in plain dictionaries, and the listing that every reader of
/// the file must produce.
struct KeyspaceModel: Equatable {
  struct Contents: Equatable {
    var number: UInt32
    var entries: [[UInt8]: [UInt8]] = [:]
  }

  private(set) var keyspaces: [String: Contents] = [:]
  private var lastNumber: UInt32 = 0

  /// Applies an operation. Creates its keyspace if necessary.
  mutating func apply(_ operation: Operation) {
    switch operation {
    case .create(let name): create(name)
    case .drop(let name):
      create(name)
      keyspaces[name] = nil
    case .put(let name, let key, let value):
      create(name)
      keyspaces[name]?.entries[key] = value
    case .delete(let name, let key):
      create(name)
      keyspaces[name]?.entries[key] = nil
    case .deleteRange(let name, let low, let high):
      create(name)
      for key in (keyspaces[name]?.entries ?? [:]).keys
      where !key.lexicographicallyPrecedes(low) && key.lexicographicallyPrecedes(high) {
        keyspaces[name]?.entries[key] = nil
      }
    }
  }

  private mutating func create(_ name: String) {
    if keyspaces[name] != nil { return }
    lastNumber += 1
    keyspaces[name] = Contents(number: lastNumber)
  }

  /// The listing that `latewood_reader.py` prints: a line for each keyspace in the byte order of
  /// names, each followed by a line for every entry in the order of keys.
  var listing: String {
    var lines = Listing()
    for (name, contents) in keyspaces.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
      lines.add(keyspace: name, number: contents.number, entries: contents.entries.count)
      for (key, value) in contents.entries.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
        lines.add(key: key, value: value)
      }
    }
    return lines.text
  }
}

/// One operation of a transaction; keyspaces by name.
enum Operation {
  case create(String)
  case drop(String)
  case put(String, [UInt8], [UInt8])
  case delete(String, [UInt8])
  /// The second key is not in the range.
  case deleteRange(String, [UInt8], [UInt8])

  static func put(_ keyspace: String, _ key: String, _ value: String) -> Operation {
    .put(keyspace, Array(key.utf8), Array(value.utf8))
  }
  static func delete(_ keyspace: String, _ key: String) -> Operation { .delete(keyspace, Array(key.utf8)) }
  static func deleteRange(_ keyspace: String, _ low: String, _ high: String) -> Operation {
    .deleteRange(keyspace, Array(low.utf8), Array(high.utf8))
  }
}

/// JSON Lines with the keys and values of a database in hexadecimal.
struct Listing {
  private(set) var text = ""

  mutating func add(keyspace: String, number: UInt32, entries: Int) {
    let name = keyspace.reduce(into: "") { name, character in
      if character == "\"" || character == "\\" { name += "\\" }
      name.append(character)
    }
    text += "{\"keyspace\": \"\(name)\", \"number\": \(number), \"entries\": \(entries)}\n"
  }

  mutating func add(key: [UInt8], value: [UInt8]) {
    text +=
      "{\"key_hex\": \"\(Listing.hexadecimal(key))\", \"value_hex\": \"\(Listing.hexadecimal(value))\"}\n"
  }

  static func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(unsafeUninitializedCapacity: bytes.count * 2) { target in
      for (index, byte) in bytes.enumerated() {
        target[2 * index] = digits[Int(byte >> 4)]
        target[2 * index + 1] = digits[Int(byte & 15)]
      }
      return bytes.count * 2
    }
  }
}
