import LatewoodFleece

/// The elements of an array that is built in Swift. Copies of a value share it until one of them is
/// changed.
///
/// This is a class with a `deinit` because values can be nested to any depth, and Swift would
/// release nested values recursively, using stack for each level. Instead, each storage releases
/// its nested collections one after the other.
// SAFETY: the elements are changed only through a value that has the only reference; see
// `DocumentValue.uniqueElements()`.
final class ElementStorage: @unchecked Sendable {
  var elements: [DocumentValue]

  init(_ elements: [DocumentValue]) { self.elements = elements }

  deinit {
    var rest: [DocumentValue] = []
    takeCollections(into: &rest)
    DocumentValue.releaseWithoutRecursion(&rest)
  }

  /// Moves the arrays and dictionaries out; the other elements are dropped.
  fileprivate func takeCollections(into rest: inout [DocumentValue]) {
    guard elements.contains(where: \.isBuiltCollection) else { return }
    rest.append(contentsOf: elements.lazy.filter(\.isBuiltCollection))
    elements = []
  }
}

/// The members of a dictionary that is built in Swift, or that has been changed since it was read;
/// see ``ElementStorage``.
///
/// A change does not copy a dictionary of a stored document: only the changes are kept in memory,
/// and are merged with the stored members when the document is saved.
// SAFETY: the members are changed only through a value that has the only reference; see
// `DocumentValue.uniqueMembers()`.
final class MemberStorage: @unchecked Sendable {
  /// The dictionary that was read; nil if there was none.
  let stored: FleeceElement?
  /// The members that differ from the stored ones; a missing value marks a removed member.
  private(set) var changes: [KeyText: DocumentValue]

  init(_ members: [KeyText: DocumentValue]) {
    stored = nil
    changes = members
  }

  init(changing stored: FleeceElement) {
    self.stored = stored
    changes = [:]
  }

  init(copying other: MemberStorage) {
    stored = other.stored
    changes = other.changes
  }

  deinit {
    var rest: [DocumentValue] = []
    takeCollections(into: &rest)
    DocumentValue.releaseWithoutRecursion(&rest)
  }

  /// All members that can be read. O(members) if there are stored ones.
  var members: [KeyText: DocumentValue] { (try? allMembers()) ?? changes.filter { $0.value.exists } }

  /// Returns all members; throws if the stored ones cannot be read.
  func allMembers() throws(FleeceError) -> [KeyText: DocumentValue] {
    guard let stored else { return changes }
    let kept = try stored.members() ?? []
    var members: [KeyText: DocumentValue] = [:]
    members.reserveCapacity(kept.count + changes.count)
    for (key, value) in kept { members[KeyText(key)] = DocumentValue(stored: value) }
    for (key, value) in changes {
      if value.exists { members[key] = value } else { members.removeValue(forKey: key) }
    }
    return members
  }

  /// The value of a key; missing if there is none. Setting a missing value removes the member.
  subscript(key: String) -> DocumentValue {
    get { changes[KeyText(key)] ?? storedValue(of: key) }
    set {
      if newValue.exists || stored != nil {
        changes[KeyText(key)] = newValue
      } else {
        changes.removeValue(forKey: KeyText(key))
      }
    }
  }

  /// Moves the value of a key out, for changing it in place. The caller must set it again before
  /// any other call.
  func take(_ key: String) -> DocumentValue {
    guard let place = changes.index(forKey: KeyText(key)) else { return storedValue(of: key) }
    var value = DocumentValue.missing
    swap(&value, &changes.values[place])
    return value
  }

  private func storedValue(of key: String) -> DocumentValue {
    DocumentValue(stored: (try? stored?.element(for: key)) ?? nil)
  }

  fileprivate func takeCollections(into rest: inout [DocumentValue]) {
    guard changes.values.contains(where: \.isBuiltCollection) else { return }
    rest.append(contentsOf: changes.values.lazy.filter(\.isBuiltCollection))
    changes = [:]
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
  fileprivate static func releaseWithoutRecursion(_ rest: inout [DocumentValue]) {
    while var value = rest.popLast() {
      // Shared storage is released by its other owners.
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

  /// Returns the elements, not shared with any other value, for changing them. Turns any other
  /// value into an array; stored elements are copied one level deep first.
  mutating func uniqueElements() -> ElementStorage {
    var storage = takeElements() ?? ElementStorage(array ?? [])
    if !isKnownUniquelyReferenced(&storage) { storage = ElementStorage(storage.elements) }
    content = .array(storage)
    return storage
  }

  /// Returns the members, not shared with any other value, for changing them. Turns any other value
  /// into a dictionary; stored members are not copied.
  mutating func uniqueMembers() -> MemberStorage {
    var storage = takeMembers() ?? changedMembers
    if !isKnownUniquelyReferenced(&storage) { storage = MemberStorage(copying: storage) }
    content = .dictionary(storage)
    return storage
  }

  private var changedMembers: MemberStorage {
    guard case .stored(let element) = content, (try? element.kind) == .dictionary else {
      return MemberStorage([:])
    }
    return MemberStorage(changing: element)
  }
}
