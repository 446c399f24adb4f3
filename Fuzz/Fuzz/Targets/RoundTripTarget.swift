import LatewoodFleece

/// JSON to Fleece to JSON: the second text is canonical, and further round trips do not change it.
final class RoundTripTarget: FuzzTarget {
  var words: [[UInt8]] { JSONTarget().words }

  private var parser = JSONParser()

  func run(_ input: UnsafeRawBufferPointer) {
    let fleece: [UInt8]
    do throws(FleeceError) { fleece = try parser.parse(input) } catch { return }
    do throws(FleeceError) {
      try FleeceBody(fleece).withRoot { value throws(FleeceError) in try value.validate() }
      let text = try JSON.text(of: fleece)
      let again = try parser.parse(text)
      if again != fleece { find("the same value is other Fleece after a turn through its text") }
      if try JSON.text(of: again) != text { find("the canonical text is not the same twice") }
      let indented = try JSON.text(of: fleece, .indented)
      if try parser.parse(indented) != fleece { find("the indented text is another value") }
      var writer = FleeceWriter()
      let copy = try FleeceBody(fleece).withRoot { value throws(FleeceError) in
        try writer.value(value)
        return try writer.finish()
      }
      if copy != fleece { find("a copy is not the same bytes") }
    } catch {
      find("what was made of a text cannot be read: \(error)")
    }
  }
}
