/// Converts between JSON and Fleece, one text or value at a time.
package enum JSON {
  /// Converts a text to Fleece; see `JSONParser` for the accepted texts.
  package static func fleece(from text: [UInt8]) throws(FleeceError) -> [UInt8] {
    var parser = JSONParser()
    return try parser.parse(text)
  }

  package static func fleece(from text: String) throws(FleeceError) -> [UInt8] {
    var parser = JSONParser()
    return try parser.parse(text)
  }

  /// Converts a value to text; see `JSONOutput` for its form.
  package static func text(of value: FleeceValue, _ style: JSONOutput.Style = .canonical) throws(FleeceError)
    -> [UInt8]
  {
    var output = JSONOutput(style)
    try output.value(value)
    return output.take()
  }

  /// Converts Fleece bytes to text.
  package static func text(of fleece: [UInt8], _ style: JSONOutput.Style = .canonical) throws(FleeceError)
    -> [UInt8]
  {
    try FleeceBody(fleece).withRoot { value throws(FleeceError) in try text(of: value, style) }
  }
}

extension FleeceElement {
  /// Returns the value as text; see `JSONOutput` for its form.
  package func json(_ style: JSONOutput.Style = .canonical) throws(FleeceError) -> [UInt8] {
    try withValue { value throws(FleeceError) in try JSON.text(of: value, style) }
  }
}
