import LatewoodDocuments
import LatewoodFleece

/// Creates bodies of documents from JSON text, reusing the parser's memory.
final class BodyReader {
  private var parser = JSONParser()

  /// Returns the stored form of a document's text.
  func body(of text: [UInt8]) throws(Failure) -> [UInt8] {
    try text.withContents { (text) throws(Failure) in try body(of: text) }
  }

  func body(of text: UnsafeRawBufferPointer) throws(Failure) -> [UInt8] {
    let body: [UInt8]
    do throws(FleeceError) { body = try parser.parse(text) } catch {
      guard error.kind == .invalidJSON else { throw Self.refused(error) }
      var failure = Failure(
        .badInput, code: "invalidJSON", error.reason, advice: "Correct the text there and run it again.")
      failure.line = error.line
      failure.column = error.column
      throw failure
    }
    try Self.check(root(of: body))
    return body
  }

  /// Returns the stored form of a text, which need not be a document; nil if it is not one JSON
  /// text.
  func value(ofText text: UnsafeRawBufferPointer) -> FleeceElement? {
    do throws(FleeceError) { return try FleeceBody(parser.parse(text)).root } catch { return nil }
  }

  private func root(of body: [UInt8]) throws(Failure) -> FleeceElement {
    do throws(FleeceError) { return try FleeceBody(body).root } catch { throw Self.refused(error) }
  }

  /// Throws if a value cannot be a document.
  static func check(_ root: FleeceElement) throws(Failure) {
    let isDictionary: Bool
    let marked: [String]
    do throws(FleeceError) {
      isDictionary = try root.kind == .dictionary
      marked = try root.keys(beginningWith: UInt8(ascii: "_"))
    } catch { throw refused(error) }
    guard isDictionary else {
      throw Failure.badInput(
        "this is not an object, and a document must be one",
        advice: "Values of other kinds can be kept as entries: see `latewood help put`.")
    }
    for name in marked where NameRules.reservedMembers.contains(name) {
      throw Failure.badInput(
        "this cannot be a document: the member \(name) is reserved", advice: "Give it another name.")
    }
  }

  private static func refused(_ error: FleeceError) -> Failure {
    .badInput("this cannot be a document: \(error.reason)")
  }

  /// Returns the body of a document without members.
  static func empty() throws(Failure) -> [UInt8] { try BodyReader().body(of: Array("{}".utf8)) }
}
