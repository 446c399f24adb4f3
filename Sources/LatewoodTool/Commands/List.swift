import LatewoodFleece
import LatewoodStore

extension OptionDescription {
  static let reverse = OptionDescription(name: "--reverse", summary: "from the last key to the first")
  static let count = OptionDescription(name: "--count", summary: "print only how many entries there are")
  static let keysOnly = OptionDescription(
    name: "--keys-only", summary: "print keys without values, each whole on a line")
}

extension CommandDescription {
  static let list = CommandDescription(
    name: "list",
    summary: "print keys and values in order",
    operands: [.database],
    options: [.keyspace, .from, .to, .prefix, .limit, .reverse, .keysOnly, .count, .asOf],
    discussion: [
      "Keys are ordered by their bytes. Each entry is one line, cut to the width of the terminal (80 "
        + "columns elsewhere); use --json or export for whole values. --count does not read the entries: "
        + "the tree knows how many there are in any range.",
      "With --reverse, --from and --to still mean the lower and the upper end.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood list my.latewood --prefix user/ --limit 10",
        explanation: "The first ten entries whose keys start with \"user/\"."),
      ExampleDescription(
        line: "latewood list my.latewood --reverse --limit 1", explanation: "The last entry."),
      ExampleDescription(
        line: "latewood list my.latewood --from a --to b --count",
        explanation: "How many keys start with \"a\"."),
    ],
    json: [
      #"{"keyspace":"NAME","entries":[{"key":KEY,"value":VALUE}, ...],"count":NUMBER}"#,
      #"with --keys-only without values; with --count without entries"#,
    ]
  ) { arguments, console in
    let range = try range(of: arguments)
    let limit = try arguments.number(of: .limit) ?? UInt64.max
    try Database.reading(arguments).closing { database in
      let keyspace = try database.keyspace(arguments)
      let snapshot = try database.snapshot(arguments)
      if arguments.has(.count) {
        let count = try range.map { try snapshot.count(in: keyspace, $0) } ?? 0
        try printCount(min(UInt64(count), limit), of: keyspace, on: console)
      } else {
        var listing = Listing(console, keyspace: keyspace.name, keysOnly: arguments.has(.keysOnly))
        try listing.begin()
        if let range, limit > 0 {
          try snapshot.forEach(in: keyspace, range, reversed: arguments.has(.reverse)) { key, value in
            try listing.add(key, value)
            return listing.count < limit
          }
        }
        try listing.end()
        if listing.count == 0, limit > 0 {
          let all = try snapshot.count(in: keyspace)
          let name = KeyText.shown(keyspace.name.utf8)
          try console.noteEmpty(
            all == 0
              ? "The keyspace \(name) is empty."
              : "No keys in this range; the keyspace \(name) has \(Quantity.count(all, "entry", "entries")).")
        }
      }
    }
    return .success
  }

  private static func printCount(
    _ count: UInt64, of keyspace: Keyspace, on console: Console
  ) throws {
    guard console.printsJSON else { return try console.line("\(count)") }
    try console.object { writer in
      writer.member("keyspace", keyspace.name)
      writer.member("count", count)
    }
  }

  /// Returns the intersection of `--from`, `--to` and `--prefix`; nil if it is empty.
  private static func range(of arguments: Arguments) throws -> KeyRange? {
    var range = KeyRange.prefix(try arguments.key(of: .prefix) ?? [])
    if let from = try arguments.key(of: .from) {
      if case .included(let low) = range.lower, from.lexicographicallyPrecedes(low) {
      } else {
        range.lower = .included(from)
      }
    }
    if let to = try arguments.key(of: .to) {
      if case .excluded(let high) = range.upper, high.lexicographicallyPrecedes(to) {
      } else {
        range.upper = .excluded(to)
      }
    }
    if case .included(let low) = range.lower, case .excluded(let high) = range.upper,
      !low.lexicographicallyPrecedes(high)
    {
      return nil
    }
    return range
  }
}

/// Prints entries one by one, in the output form of the console.
private struct Listing: ~Copyable {
  private let console: Console
  private let keyspace: String
  private let keysOnly: Bool
  private var writer = JSONOutput()
  private(set) var count: UInt64 = 0

  init(_ console: Console, keyspace: String, keysOnly: Bool) {
    self.console = console
    self.keyspace = keyspace
    self.keysOnly = keysOnly
  }

  mutating func begin() throws {
    guard console.printsJSON else { return }
    writer.beginDictionary()
    writer.member("keyspace", keyspace)
    writer.key("entries")
    writer.beginArray()
  }

  mutating func add(_ key: RawSpan, _ value: RawSpan) throws {
    count += 1
    let key = key.bytes()
    if console.printsJSON {
      writer.beginDictionary()
      writer.member("key", data: key)
      if !keysOnly { writer.member("value", data: value.bytes()) }
      writer.endDictionary()
      try console.output.write(writer.take())
    } else if keysOnly {
      try console.line(KeyText.shown(key))
    } else {
      let shown = DisplayWidth.fitted(KeyText.shown(key), to: console.width / 2)
      let room = console.width - DisplayWidth.of(shown) - 2
      try console.line("\(shown)  \(console.style.dim(ValueText.shown(value, in: room)))")
    }
  }

  mutating func end() throws {
    guard console.printsJSON else { return }
    writer.endArray()
    writer.member("count", count)
    writer.endDictionary()
    writer.lineBreak()
    try console.output.write(writer.take())
  }
}
