/// The rules for ids, names and members. Each function returns the reason why a name is refused,
/// worded to follow the name; nil if it is allowed.
package enum NameRules {
  package static let longestID = 8000
  package static let longestCollection = 251
  package static let longestIndex = 251
  /// The members that documents cannot have at their top level, because they are reserved wherever
  /// documents are exchanged.
  package static let reservedMembers: Set<String> = [
    "_id", "_rev", "_deleted", "_attachments", "_removed", "_sequence",
  ]

  /// The reserved member that a document may have if its value describes blobs: see
  /// `BodyAttachments`.
  package static let attachmentsMember = "_attachments"

  /// The beginning of the ids of design documents, which are stored and replicated, but never run.
  package static let designPrefix = "_design/"

  /// Ids: 1 to 8,000 bytes of UTF-8, no underscore at the start except in `_design/` and a name, no
  /// control characters.
  package static func objection(toID id: String) -> String? {
    if id.utf8.isEmpty { return "is empty" }
    if id.utf8.count > longestID { return "is \(id.utf8.count) bytes long; at most \(longestID) are allowed" }
    if id.utf8.first == UInt8(ascii: "_"),
      !id.utf8.starts(with: designPrefix.utf8) || id.utf8.count == designPrefix.utf8.count
    {
      return "starts with an underscore"
    }
    return controlCharacter(in: id)
  }

  /// Indexes: 1 to 251 bytes of UTF-8, no control characters.
  package static func objection(toIndex name: String) -> String? {
    if name.utf8.isEmpty { return "is empty" }
    if name.utf8.count > longestIndex { return "is \(name.utf8.count) bytes long" }
    return controlCharacter(in: name)
  }

  /// Views: 1 to 251 bytes of UTF-8, no control characters.
  package static func objection(toView name: String) -> String? { objection(toIndex: name) }

  private static func controlCharacter(in text: String) -> String? {
    // Nearly all names lack the bytes of control characters: C2 begins those above U+007F.
    var copy = text
    if copy.withUTF8({ $0.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != 0xC2 } }) { return nil }
    for scalar in text.unicodeScalars where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) {
      return "has the control character U+\(String(scalar.value, radix: 16, uppercase: true))"
    }
    return nil
  }

  /// Collections: a name, or the name of a scope, a period and a name. Each name is 1 to 251 of the
  /// characters A-Z, a-z, 0-9, _, - and %, and does not start with _ or %. `_default` is valid,
  /// too.
  package static func objection(toCollection name: String) -> String? {
    if name == CollectionHandle.defaultName { return nil }
    guard let period = name.utf8.firstIndex(of: UInt8(ascii: ".")) else {
      return objection(toPart: name[...])
    }
    if let objection = objection(toPart: name[..<period]) { return "has a scope that \(objection)" }
    return objection(toPart: name[name.utf8.index(after: period)...])
      .map { "has, after its scope, a part that \($0)" }
  }

  private static func objection(toPart name: Substring) -> String? {
    guard let first = name.utf8.first else { return "is empty" }
    if name.utf8.count > longestCollection { return "is \(name.utf8.count) bytes long" }
    if first == UInt8(ascii: "_") || first == UInt8(ascii: "%") { return "starts with _ or %" }
    let isAllowed = name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "%"):
        true
      default: false
      }
    }
    return isAllowed ? nil : "has other characters than letters, digits, _, - and %"
  }
}
