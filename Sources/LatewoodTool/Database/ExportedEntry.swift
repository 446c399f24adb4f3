import LatewoodFleece

/// One line of the form `entries`: `{"key":DATA,"value":DATA}`, where DATA is a string or
/// `{"base64":"…"}`.
struct ExportedEntry: Equatable {
  var key: [UInt8]
  var value: [UInt8]

  init(key: [UInt8], value: [UInt8]) {
    self.key = key
    self.value = value
  }

  /// Returns nil unless `text` is compact JSON of exactly this form.
  init?(_ text: JSONSlice) {
    guard let members = text.members(), members.count == 2,
      let key = Self.data(named: "key", among: members), !key.isEmpty,
      let value = Self.data(named: "value", among: members)
    else { return nil }
    self.init(key: key, value: value)
  }

  func write(to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.member("key", data: key)
    writer.member("value", data: value)
    writer.endDictionary()
  }

  private static func data(
    named name: String, among members: [(name: JSONSlice, value: JSONSlice)]
  ) -> [UInt8]? {
    guard let member = members.first(where: { $0.name.string()?.elementsEqual(name.utf8) == true })
    else {
      return nil
    }
    if let text = member.value.string() { return text }
    guard let inner = member.value.members(), inner.count == 1,
      inner[0].name.string()?.elementsEqual("base64".utf8) == true
    else { return nil }
    return inner[0].value.string().flatMap { Base64.decode($0) }
  }
}
