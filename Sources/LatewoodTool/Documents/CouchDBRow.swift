import LatewoodFleece

/// A row of the response to CouchDB's `_all_docs?include_docs=true`, in compact JSON.
///
/// ```
/// {"id":"alien","key":"alien","value":{"rev":"1-…"},
///   "doc":{"_id":"alien","_rev":"1-…","title":"Alien"}}
/// ```
struct CouchDBRow {
  /// The path of the rows in the text.
  static let rows = [Array("rows".utf8)]
  static let advice =
    "CouchDB gives that for _all_docs?include_docs=true: {\"rows\":[{\"id\":...,\"doc\":{...}}]}"

  /// Whether a text in compact JSON begins like a complete response.
  static func isResponse(_ text: JSONSlice) -> Bool {
    let start = Array(text.bytes.prefix(120))
    return start.starts(with: #"{"total_rows":"#.utf8) && start.contains(#","rows":["#.utf8)
  }

  let id: [UInt8]
  /// The document without the members that CouchDB adds, whose names begin with an underscore; nil
  /// if it is omitted, because it is deleted or a design document.
  let document: [UInt8]?
  /// Whether the document has attachments, which are left out.
  let hasAttachments: Bool

  /// - Throws: `Failure` without a position if `row` does not have this form.
  init(_ row: JSONSlice) throws(Failure) {
    guard let members = row.members() else {
      throw Failure.badInput("this row is not an object", advice: Self.advice)
    }
    func member(_ name: String) -> JSONSlice? {
      members.last { $0.name.string()?.elementsEqual(name.utf8) ?? false }?.value
    }
    let doc = member("doc")
    guard doc != nil || member("error") != nil else {
      throw Failure.badInput("this row has no document", advice: Self.advice)
    }
    guard let doc, !doc.isEqual("null") else {
      id = []
      document = nil
      hasAttachments = false
      return
    }
    guard let parts = doc.members() else {
      throw Failure.badInput("the document of this row is not an object", advice: Self.advice)
    }
    var kept: [(name: JSONSlice, value: JSONSlice)] = []
    var found: JSONSlice?
    var isDeleted = false
    var hasAttachments = false
    for part in parts {
      guard let name = part.name.string(), name.first == UInt8(ascii: "_") else {
        kept.append(part)
        continue
      }
      switch String(decoding: name, as: UTF8.self) {
      case "_id": found = part.value
      case "_deleted": isDeleted = part.value.isEqual("true")
      case "_attachments": hasAttachments = part.value.bytes.count > 2
      default: break
      }
    }
    guard let id = (found ?? member("id"))?.string(), !id.isEmpty else {
      throw Failure.badInput("the document of this row has no id", advice: Self.advice)
    }
    self.id = id
    let isDesign = id.starts(with: "_design/".utf8)
    document = isDeleted || isDesign ? nil : JSONSlice.object(kept)
    self.hasAttachments = hasAttachments && document != nil
  }
}
