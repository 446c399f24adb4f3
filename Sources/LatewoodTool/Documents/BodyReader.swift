import LatewoodBytes
import LatewoodDevice
import LatewoodDocuments
import LatewoodFleece

/// Creates bodies of documents from JSON text, reusing the parser's memory.
final class BodyReader {
  /// The length of a text, in bytes, from which its need of memory is checked.
  private static let largeLength = 1 << 20

  private var parser = JSONParser()
  private var isLarge = false

  /// Returns the stored form of a document's text.
  func body(of text: [UInt8]) throws -> [UInt8] {
    try text.withContents { text in try prepare(text) }
    return try body()
  }

  /// Parses a document's text. `body` then returns its stored form.
  func prepare(_ text: UnsafeRawBufferPointer) throws {
    isLarge = text.count >= Self.largeLength
    do throws(FleeceError) {
      if isLarge { try Self.checkMemory(for: text) }
      try parser.prepare(text)
    } catch {
      guard error.kind == .invalidJSON else { throw Self.refused(error) }
      var failure = Failure(
        .badInput, code: "invalidJSON", error.reason, advice: "Correct the text there and run it again.")
      failure.line = error.line
      failure.column = error.column
      throw failure
    }
  }

  /// Returns the stored form of the document that `prepare` has parsed.
  func body() throws -> [UInt8] {
    let body = parser.converted
    // The memory for a large document is not kept.
    if isLarge { parser = JSONParser() }
    try Self.check(root(of: body))
    return body
  }

  /// Throws if the process cannot get the memory that a document needs.
  private static func checkMemory(for text: UnsafeRawBufferPointer) throws(FleeceError) {
    var check = JSONCheck()
    guard try check.value(of: text) != nil else { return }
    let needed = JSONParser.memory(forTextOf: text.count, values: check.valueCount)
    do throws(StorageError) { try MemoryRange.check(needed) } catch {
      throw FleeceError(
        .tooLarge,
        "its \(Quantity.bytes(UInt64(text.count))) of JSON need about "
          + "\(Quantity.bytes(UInt64(needed))) of memory, more than the process gets")
    }
  }

  /// Returns the stored form of a text, which need not be a document; nil if it is not one JSON
  /// text.
  func value(ofText text: UnsafeRawBufferPointer) -> FleeceElement? {
    do throws(FleeceError) { return try FleeceBody(parser.parse(text)).root } catch { return nil }
  }

  private func root(of body: [UInt8]) throws -> FleeceElement {
    do throws(FleeceError) { return try FleeceBody(body).root } catch { throw Self.refused(error) }
  }

  /// Throws if a value cannot be a document.
  static func check(_ root: FleeceElement) throws {
    let isDictionary: Bool
    let marked: [String]
    do throws(FleeceError) {
      isDictionary = try root.kind == .dictionary
      marked = try root.keys(beginningWith: UInt8(ascii: "_"))
    } catch { throw refused(error) }
    guard isDictionary else {
      throw Failure.badInput(
        "this is not an object, and a document must be one",
        advice: "Values of other kinds can be kept as entries: with `latewood import --entries`, or "
          + "`latewood put`.")
    }
    for name in marked where NameRules.reservedMembers.contains(name) {
      if name == NameRules.attachmentsMember, try areAttachments(root.element(for: name)) { continue }
      throw Failure.badInput(
        "this cannot be a document: the member \(name) is reserved", advice: "Give it another name.")
    }
  }

  /// Whether a value describes blobs by their names, as a pull stores the attachments of CouchDB.
  /// `latewood doc get` prints such members, so they can be put again.
  private static func areAttachments(_ value: FleeceElement?) throws -> Bool {
    do throws(FleeceError) {
      guard let members = try value?.members() else { return false }
      for (_, facts) in members {
        guard try facts.element(for: "@type")?.string() == "blob",
          let digest = try facts.element(for: "digest")?.string(), BlobDigest(text: digest) != nil
        else { return false }
      }
      return true
    } catch { throw refused(error) }
  }

  private static func refused(_ error: FleeceError) -> Failure {
    guard error.kind == .tooLarge else {
      return .badInput("this cannot be a document: \(error.reason)")
    }
    return Failure(
      .badInput, code: "valueTooLarge", "this cannot be a document: \(error.reason)",
      advice: "Raise the limit of the process, or split the document. A document has at most 2 GiB.")
  }

  /// Returns the body of a document without members.
  static func empty() throws -> [UInt8] { try BodyReader().body(of: Array("{}".utf8)) }
}
