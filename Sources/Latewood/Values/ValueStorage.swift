/// The elements of an array that is built in Swift. Copies of a value share it until one of them is
/// changed.
///
/// Behind a reference, and with a `deinit`, because values can be nested to any depth: Swift would
/// take stack for each level of them to let go of the whole. So each lets go of those inside of it
/// one after the other.
// SAFETY: the elements are changed only through a value that has the one reference; see
// `DocumentValue.uniqueElements()`.
final class ElementStorage: @unchecked Sendable {
  var elements: [DocumentValue]

  init(_ elements: [DocumentValue]) { self.elements = elements }

  deinit {
    var rest: [DocumentValue] = []
    takeCollections(into: &rest)
    DocumentValue.letGo(&rest)
  }

  /// Moves the arrays and dictionaries among the elements; nothing else is needed any more.
  fileprivate func takeCollections(into rest: inout [DocumentValue]) {
    guard elements.contains(where: \.isBuiltCollection) else { return }
    rest.append(contentsOf: elements.lazy.filter(\.isBuiltCollection))
    elements = []
  }
}

/// The members of a dictionary that is built in Swift; as ``ElementStorage``.
// SAFETY: the members are changed only through a value that has the one reference; see
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

  fileprivate var isBuiltCollection: Bool {
    switch content {
    case .array, .dictionary: true
    default: false
    }
  }

  /// Ends values that may be the last references to what is in them, without a recursion.
  fileprivate static func letGo(_ rest: inout [DocumentValue]) {
    while var value = rest.popLast() {
      // What others have too is theirs to let go of.
      if var storage = value.takeElements() {
        if isKnownUniquelyReferenced(&storage) { storage.takeCollections(into: &rest) }
      } else if var storage = value.takeMembers() {
        if isKnownUniquelyReferenced(&storage) { storage.takeCollections(into: &rest) }
      }
    }
  }

  /// Moves the storage out of the value, so that it can be the only reference.
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

  /// The elements, to be changed: those of no other value. Makes an array of what is none; what is
  /// stored is copied one level deep first.
  mutating func uniqueElements() -> ElementStorage {
    var storage = takeElements() ?? ElementStorage(array ?? [])
    if !isKnownUniquelyReferenced(&storage) { storage = ElementStorage(storage.elements) }
    content = .array(storage)
    return storage
  }

  /// The members, to be changed: those of no other value. Makes a dictionary of what is none; what
  /// is stored is copied one level deep first.
  mutating func uniqueMembers() -> MemberStorage {
    var storage = takeMembers() ?? MemberStorage(builtMembers)
    if !isKnownUniquelyReferenced(&storage) { storage = MemberStorage(storage.members) }
    content = .dictionary(storage)
    return storage
  }

  private var builtMembers: [KeyText: DocumentValue] {
    Dictionary(members.map { (KeyText($0.key), $0.value) }) { _, last in last }
  }
}
