import LatewoodDocuments

/// The names of the databases that a server shows for the collections of a file.
///
/// CouchDB allows lower-case letters, digits and `_$()+-/` in the names of databases, and a letter
/// must be first. Collections allow other characters. Each collection has one name as a database:
///
/// | collection | database |
/// | --- | --- |
/// | `a` to `z`, `0` to `9`, `_`, `-` | the same character |
/// | `A` to `Z` | `$` and the letter in lower case: `myNotes` is `my$notes` |
/// | `.` | `$-`: `home.notes` is `home$-notes` |
/// | `%24`, `%28`, `%29`, `%2B`, `%2F` | `$`, `(`, `)`, `+`, `/` |
/// | `_default` | `_default` |
///
/// A collection whose name has no such form is not served.
enum DatabaseNames {
  private static let encoded: [(byte: UInt8, text: String)] = [
    (UInt8(ascii: "$"), "%24"), (UInt8(ascii: "("), "%28"), (UInt8(ascii: ")"), "%29"),
    (UInt8(ascii: "+"), "%2B"), (UInt8(ascii: "/"), "%2F"),
  ]

  /// The length that CouchDB allows.
  private static let longest = 238

  /// Returns the name of the collection that a database stands for; nil if no database can have
  /// this name.
  static func collection(of database: String) -> String? {
    if database == CollectionHandle.defaultName { return database }
    let bytes = Array(database.utf8)
    guard let first = bytes.first, first == UInt8(ascii: "$") || isLetter(first), bytes.count <= longest
    else {
      return nil
    }
    var name: [UInt8] = []
    var at = 0
    while at < bytes.count {
      let byte = bytes[at]
      at += 1
      if byte == UInt8(ascii: "$"), at < bytes.count, isLetter(bytes[at]) {
        name.append(bytes[at] & ~0x20)
        at += 1
      } else if byte == UInt8(ascii: "$"), at < bytes.count, bytes[at] == UInt8(ascii: "-") {
        name.append(UInt8(ascii: "."))
        at += 1
      } else if let code = encoded.first(where: { $0.byte == byte }) {
        name += code.text.utf8
      } else if isPlain(byte) {
        name.append(byte)
      } else {
        return nil
      }
    }
    let text = String(decoding: name, as: UTF8.self)
    return NameRules.objection(toCollection: text) == nil ? text : nil
  }

  /// Returns the name of the database that stands for a collection; nil if there is none.
  static func database(of collection: String) -> String? {
    var name: [UInt8] = []
    var rest = Array(collection.utf8)[...]
    while let byte = rest.first {
      if let code = encoded.first(where: { rest.starts(with: $0.text.utf8) }) {
        name.append(code.byte)
        rest.removeFirst(code.text.utf8.count)
        continue
      }
      rest.removeFirst()
      if byte == UInt8(ascii: ".") {
        name += "$-".utf8
      } else if isLetter(byte | 0x20), byte & 0x20 == 0 {
        name += [UInt8(ascii: "$"), byte | 0x20]
      } else {
        name.append(byte)
      }
    }
    let text = String(decoding: name, as: UTF8.self)
    return DatabaseNames.collection(of: text) == collection ? text : nil
  }

  /// Returns the error about a name that no new database can have.
  static func objection(to database: String) -> APIError? {
    if database.utf8.count > longest {
      return APIError(
        400, "database_name_too_long", "At least one path segment of `\(database)` is too long.")
    }
    if collection(of: database) != nil { return nil }
    return APIError(
      400, "illegal_database_name",
      "Name: '\(database)'. Only lowercase characters (a-z), digits (0-9), and any of the characters "
        + "_, $, (, ), +, -, and / are allowed. Must begin with a letter.")
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    isLetter(byte) || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") || byte == UInt8(ascii: "_")
      || byte == UInt8(ascii: "-")
  }
}
