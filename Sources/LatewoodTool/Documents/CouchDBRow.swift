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
  static func isResponse(_ text: [UInt8]) -> Bool {
    let start = text.prefix(120)
    return start.starts(with: #"{"total_rows":"#.utf8) && start.contains(#","rows":["#.utf8)
  }

  let id: [UInt8]
  /// The document without the members that CouchDB adds, whose names begin with an underscore; nil
  /// if it is omitted, because it is deleted or a design document.
  let document: [UInt8]?
  /// Whether the document has attachments, which are left out.
  let hasAttachments: Bool

  /// - Throws: `Failure` without a position if `row` does not have this form.
  init(_ row: [UInt8]) throws(Failure) {
    guard let members = JSONText.members(of: row[...]) else {
      throw .badInput("this row is not an object", advice: Self.advice)
    }
    func member(_ name: String) -> ArraySlice<UInt8>? {
      members.last { JSONText.string($0.name)?.elementsEqual(name.utf8) ?? false }?.value
    }
    let null = Array("null".utf8)
    guard let doc = member("doc") ?? (member("error") == nil ? nil : null[...]) else {
      throw .badInput("this row has no document", advice: Self.advice)
    }
    guard !doc.elementsEqual(null) else {
      id = []
      document = nil
      hasAttachments = false
      return
    }
    guard let parts = JSONText.members(of: doc) else {
      throw .badInput("the document of this row is not an object", advice: Self.advice)
    }
    var text = Array("{".utf8)
    var found: ArraySlice<UInt8>?
    var isDeleted = false
    var hasAttachments = false
    for part in parts {
      guard let name = JSONText.string(part.name), name.first == UInt8(ascii: "_") else {
        if text.count > 1 { text.append(UInt8(ascii: ",")) }
        text += part.name
        text.append(UInt8(ascii: ":"))
        text += part.value
        continue
      }
      switch String(decoding: name, as: UTF8.self) {
      case "_id": found = part.value
      case "_deleted": isDeleted = part.value.elementsEqual("true".utf8)
      case "_attachments": hasAttachments = part.value.count > 2
      default: break
      }
    }
    guard let id = (found ?? member("id")).flatMap(JSONText.string), !id.isEmpty else {
      throw .badInput("the document of this row has no id", advice: Self.advice)
    }
    self.id = id
    let isDesign = id.starts(with: "_design/".utf8)
    document = isDeleted || isDesign ? nil : text + [UInt8(ascii: "}")]
    self.hasAttachments = hasAttachments && document != nil
  }
}
