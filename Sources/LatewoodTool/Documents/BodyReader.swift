import LatewoodDocuments
import LatewoodFleece

/// Makes bodies of documents from JSON text, reusing the parser's memory.
final class BodyReader {
  private var parser = JSONParser()

  /// Returns the stored form of a document's text.
  func body(of text: [UInt8]) throws(Failure) -> [UInt8] {
    do {
      let bytes = try parser.parse(text)
      let root = try FleeceBody(bytes).root
      guard try root.kind == .dictionary else {
        throw Failure.badInput(
          "this is not an object, and a document must be one",
          advice: "Values of other kinds can be kept as entries: see `latewood help put`.")
      }
      for name in NameRules.reservedMembers where try root.element(for: name) != nil {
        throw Failure.badInput(
          "this cannot be a document: the member \(name) is reserved", advice: "Give it another name.")
      }
      return bytes
    } catch let error as FleeceError where error.kind == .invalidJSON {
      var failure = Failure(
        .badInput, code: "invalidJSON", error.reason, advice: "Correct the text there and run it again.")
      failure.line = error.line
      failure.column = error.column
      throw failure
    } catch let error as FleeceError {
      throw .badInput("this cannot be a document: \(error.reason)")
    } catch { throw Failure(error) }
  }

  /// Returns the body of a document without members.
  static func empty() throws(Failure) -> [UInt8] { try BodyReader().body(of: Array("{}".utf8)) }
}
