/// The elements of an array that is built in Swift. Copies of a value share it until one of them is
/// changed.
///
/// A class with a `deinit`, because values can be nested to any depth, and Swift would release
/// nested values recursively, using stack for each level. Instead, each storage releases its nested
/// collections one after the other.
// SAFETY: the elements are changed only through a value that has the only reference; see
// `DocumentValue.uniqueElements()`.
final class ElementStorage: @unchecked Sendable {
  var elements: [DocumentValue]

  init(_ elements: [DocumentValue]) { self.elements = elements }

  deinit {
    var rest: [DocumentValue] = []
    takeCollections(into: &rest)
    DocumentValue.letGo(&rest)
  }

  /// Moves the arrays and dictionaries out; the other elements are dropped.
  fileprivate func takeCollections(into rest: inout [DocumentValue]) {
    guard elements.contains(where: \.isBuiltCollection) else { return }
    rest.append(contentsOf: elements.lazy.filter(\.isBuiltCollection))
    elements = []
  }
}

/// The members of a dictionary that is built in Swift; see ``ElementStorage``.
// SAFETY: the members are changed only through a value that has the only reference; see
// `DocumentValue.uniqueMembers()`.
final class MemberStorage: @unchecked Sendable {
  var members: [KeyText: DocumentValue]

  init(_ members: [KeyText: DocumentValue]) { self.members = members }

  deinit {
    var rest: [DocumentValue] = []
    takeCollections(into: &rest)
    DocumentValue.letGo(&rest)
  }

  fileprivate func takeCollections(into rest: inout [DocumentValue]) {
    guard members.values.contains(where: \.isBuiltCollection) else { return }
    rest.append(contentsOf: members.values.lazy.filter(\.isBuiltCollection))
    members = [:]
  }
}

extension DocumentValue {
  init(elements: [DocumentValue]) { content = .array(ElementStorage(elements)) }
  init(members: [KeyText: DocumentValue]) { content = .dictionary(MemberStorage(members)) }

  var isBuiltCollection: Bool {
    switch content {
    case .array, .dictionary: true
    default: false
    }
  }

  /// Releases values, which may hold the last references to their contents, without recursion.
  fileprivate static func letGo(_ rest: inout [DocumentValue]) {
    while var value = rest.popLast() {
      // Storage that others share is theirs to release.
      if var storage = value.takeElements() {
        if isKnownUniquelyReferenced(&storage) { storage.takeCollections(into: &rest) }
      } else if var storage = value.takeMembers() {
        if isKnownUniquelyReferenced(&storage) { storage.takeCollections(into: &rest) }
      }
    }
  }

  /// Moves the storage out of the value, so that the result can be the only reference.
  private mutating func takeElements() -> ElementStorage? {
    guard case .array(let storage) = content else { return nil }
    content = .null
    return storage
  }

  private mutating func takeMembers() -> MemberStorage? {
    guard case .dictionary(let storage) = content else { return nil }
    content = .null
    return storage
  }

  /// Returns the elements for changing, shared with no other value. Turns any other value into an
  /// array; stored elements are copied one level deep first.
  mutating func uniqueElements() -> ElementStorage {
    var storage = takeElements() ?? ElementStorage(array ?? [])
    if !isKnownUniquelyReferenced(&storage) { storage = ElementStorage(storage.elements) }
    content = .array(storage)
    return storage
  }

  /// Returns the members for changing, shared with no other value. Turns any other value into a
  /// dictionary; stored members are copied one level deep first.
  mutating func uniqueMembers() -> MemberStorage {
    var storage = takeMembers() ?? MemberStorage(builtMembers)
    if !isKnownUniquelyReferenced(&storage) { storage = MemberStorage(storage.members) }
    content = .dictionary(storage)
    return storage
  }

  private var builtMembers: [KeyText: DocumentValue] {
    guard case .stored(let element) = content, let members = (try? element.members()) ?? nil else {
      return [:]
    }
    var built: [KeyText: DocumentValue] = [:]
    built.reserveCapacity(members.count)
    for (key, value) in members { built[KeyText(key)] = DocumentValue(stored: value) }
    return built
  }
}
