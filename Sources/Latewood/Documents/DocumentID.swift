#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The rules of document ids: 1 to 240 bytes of UTF-8, no underscore at the start, no control characters.
///
/// Ids are compared as bytes: a letter that is composed and the same one decomposed are two ids, although Swift calls the strings equal.
package enum DocumentID {
  package static let longest = 240

  /// One that no other document has.
  package static func random() -> String { UUID().uuidString.lowercased() }

  package static func check(_ id: String) throws(DatabaseError) {
    let length = id.utf8.count
    if length == 0 { throw DatabaseError(.badDocumentID, "a document id is empty") }
    if length > longest { throw DatabaseError(.badDocumentID, "a document id is \(length) bytes long") }
    if id.utf8.first == UInt8(ascii: "_") {
      throw DatabaseError(.badDocumentID, "the document id “\(id)” starts with an underscore")
    }
    for scalar in id.unicodeScalars where scalar.properties.generalCategory == .control {
      throw DatabaseError(
        .badDocumentID,
        "a document id has the control character U+\(String(scalar.value, radix: 16, uppercase: true))")
    }
  }
}

/// The rules of collection names: 1 to 251 bytes of `A-Z a-z 0-9 _ - %`, not starting with `_` or `%`; and `_default`, which every database
/// has.
package enum CollectionName {
  package static let standard = "_default"
  package static let longest = 251

  package static func check(_ name: String) throws(DatabaseError) {
    if name == standard { return }
    let advice =
      "Use 1 to \(longest) of the characters A-Z, a-z, 0-9, _, - and %, and start with none of _ and %."
    func failure(_ reason: String) -> DatabaseError {
      DatabaseError(.invalidParameter, "the collection name “\(name)” \(reason)", advice: advice)
    }
    let bytes = name.utf8
    guard let first = bytes.first else { throw failure("is empty") }
    if bytes.count > longest { throw failure("is \(bytes.count) bytes long") }
    if first == UInt8(ascii: "_") || first == UInt8(ascii: "%") { throw failure("starts with _ or %") }
    let isAllowed = bytes.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "%"):
        true
      default: false
      }
    }
    if !isAllowed { throw failure("has other characters than letters, digits, _, - and %") }
  }
}

/// Members that no document can have at its top, because they mean something else wherever documents are exchanged.
package enum ReservedKeys {
  package static let all: Set<String> = ["_id", "_rev", "_deleted", "_attachments", "_removed", "_sequence"]

  /// - Parameter isStrict: whether every key that starts with an underscore is refused.
  package static func check(_ key: String, isStrict: Bool) throws(DatabaseError) {
    guard key.utf8.first == UInt8(ascii: "_"), isStrict || all.contains(key) else { return }
    throw DatabaseError(
      .corruptRevisionData,
      isStrict
        ? "the member “\(key)” starts with an underscore" : "the member “\(key)” is reserved",
      advice: "Give the member another name, one without the underscore at its start.")
  }
}
