import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP

/// The options in the query of a target.
struct APIQuery {
  private let items: [HTTPTarget.Item]

  init(_ items: [HTTPTarget.Item]) { self.items = items }

  /// Returns these options, followed by others.
  func adding(_ others: [HTTPTarget.Item]) -> APIQuery { APIQuery(items + others) }

  /// The value of the first item with one of the given names.
  subscript(_ names: String...) -> String? {
    items.first { names.contains($0.name) }?.value
  }

  /// Whether an option is `true`. Any other value counts as false.
  func flag(_ name: String) -> Bool { self[name] == "true" }

  /// Returns an option in JSON; nil if there is none.
  func json(_ names: String...) throws(APIError) -> FleeceElement? {
    guard let value = items.first(where: { names.contains($0.name) })?.value else { return nil }
    return try APIQuery.json(Array(value.utf8))
  }

  /// Returns the revision that an option names; nil if there is none.
  func revision(_ name: String) throws(APIError) -> RevisionID? {
    guard let text = self[name] else { return nil }
    return try APIQuery.revision(text)
  }

  /// Returns the revisions that an option lists in JSON; nil if there is none.
  func revisions(_ name: String) throws -> [RevisionID]? {
    guard let list = try json(name) else { return nil }
    return try APIQuery.revisions(list)
  }

  /// Returns a number of digits only; nil for anything else.
  static func natural(_ text: some StringProtocol) -> UInt64? {
    text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } ? UInt64(text) : nil
  }

  static func json(_ text: [UInt8]) throws(APIError) -> FleeceElement {
    do throws(FleeceError) {
      return try FleeceBody(written: JSON.fleece(from: text)).root
    } catch {
      switch error.kind {
      case .tooDeep, .tooLarge: throw APIError(413, "document_too_large", error.reason)
      default: throw APIError.badRequest("invalid UTF-8 JSON")
      }
    }
  }

  static func revision(_ text: String) throws(APIError) -> RevisionID {
    do throws(DatabaseError) { return try RevisionID(text) } catch {
      let parts = text.utf8.split(separator: UInt8(ascii: "-"), maxSplits: 1)
      guard parts.count == 2, let generation = UInt64(Substring(parts[0])), generation > 0 else {
        throw APIError.badRequest("Invalid rev format")
      }
      throw .oddRevision
    }
  }

  /// Returns the revisions in a list, and those whose digests cannot be stored, as texts.
  static func possibleRevisions(_ list: FleeceElement) throws -> (possible: [RevisionID], others: [String]) {
    guard let elements = try list.elements() else { throw APIError.badRequest("Invalid rev format") }
    var (possible, others) = ([RevisionID](), [String]())
    for element in elements {
      guard let text = try element.string() else { throw APIError.badRequest("Invalid rev format") }
      do throws(APIError) { possible.append(try revision(text)) } catch {
        guard error == .oddRevision else { throw error }
        others.append(text)
      }
    }
    return (possible, others)
  }

  static func revisions(_ list: FleeceElement) throws -> [RevisionID] {
    guard try list.kind == .array, let count = try list.count() else {
      throw APIError.badRequest("Invalid rev format")
    }
    return try (0..<count).map { index in
      guard let text = try list.element(at: index)?.string() else {
        throw APIError.badRequest("Invalid rev format")
      }
      return try revision(text)
    }
  }
}

extension FleeceElement {
  /// The elements of an array; nil for any other value.
  func elements() throws(FleeceError) -> [FleeceElement]? {
    guard try kind == .array, let count = try count() else { return nil }
    var found: [FleeceElement] = []
    for index in 0..<count {
      if let element = try element(at: index) { found.append(element) }
    }
    return found
  }
}
