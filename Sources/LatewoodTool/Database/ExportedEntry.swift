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
  init?(_ text: [UInt8]) {
    guard let members = JSONText.members(of: text[...]), members.count == 2,
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
    named name: String, among members: [(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)]
  ) -> [UInt8]? {
    guard let member = members.first(where: { JSONText.string($0.name)?.elementsEqual(name.utf8) == true })
    else {
      return nil
    }
    if let text = JSONText.string(member.value) { return text }
    guard let inner = JSONText.members(of: member.value), inner.count == 1,
      JSONText.string(inner[0].name)?.elementsEqual("base64".utf8) == true
    else { return nil }
    return JSONText.string(inner[0].value).flatMap { Base64.decode($0) }
  }
}
