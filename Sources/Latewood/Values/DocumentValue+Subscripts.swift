import LatewoodFleece

extension DocumentValue {
  /// The value of a key of a dictionary. Missing if this is no dictionary, or has no such key.
  ///
  /// Setting makes a dictionary of what is none, so that a path can be set in one go; setting a missing value removes the member.
  public subscript(key: String) -> DocumentValue {
    get {
      switch content {
      case .dictionary(let members): members[KeyText(key)] ?? .missing
      case .stored(let element): DocumentValue(stored: (try? element.element(for: key)) ?? nil)
      default: .missing
      }
    }
    set {
      guard newValue.exists else {
        removeValue(forKey: key)
        return
      }
      withMembers { $0[KeyText(key)] = newValue }
    }
  }

  /// The element at an index of an array. Missing if this is no array, or has no such element.
  ///
  /// Setting at `count` appends, and makes an array of what is none. Setting beyond is an error of the program, and so is setting a missing
  /// value; `removeElement(at:)` removes.
  public subscript(index: Int) -> DocumentValue {
    get {
      switch content {
      case .array(let elements): elements.indices.contains(index) ? elements[index] : .missing
      case .stored(let element): DocumentValue(stored: (try? element.element(at: index)) ?? nil)
      default: .missing
      }
    }
    set {
      precondition(newValue.exists, "an element of an array cannot be missing; remove it, or set null")
      withElements { elements in
        precondition(index >= 0 && index <= elements.count, "the array has \(elements.count) elements")
        if index == elements.count { elements.append(newValue) } else { elements[index] = newValue }
      }
    }
  }

  /// Removes a member of a dictionary, if it is there.
  public mutating func removeValue(forKey key: String) {
    guard kind == .dictionary, contains(key) else { return }
    withMembers { $0[KeyText(key)] = nil }
  }

  /// Adds an element at the end of an array; makes an array of what is none.
  public mutating func append(_ value: DocumentValue) {
    precondition(value.exists, "an element of an array cannot be missing")
    withElements { $0.append(value) }
  }

  /// Adds an element before the one at an index, or at the end.
  public mutating func insert(_ value: DocumentValue, at index: Int) {
    precondition(value.exists, "an element of an array cannot be missing")
    withElements { elements in
      precondition(index >= 0 && index <= elements.count, "the array has \(elements.count) elements")
      elements.insert(value, at: index)
    }
  }

  /// Removes the element at an index, which must be there.
  public mutating func removeElement(at index: Int) {
    withElements { elements in
      precondition(elements.indices.contains(index), "the array has \(elements.count) elements")
      elements.remove(at: index)
    }
  }

  /// Changes the members. What is stored is copied one level deep first.
  private mutating func withMembers(_ body: (inout [KeyText: DocumentValue]) -> Void) {
    var members: [KeyText: DocumentValue]
    if case .dictionary(let own) = content {
      members = own
      // The only reference is this variable now, so the change is made in place.
      content = .null
    } else {
      members = Dictionary(self.members.map { (KeyText($0.key), $0.value) }) { _, last in last }
    }
    body(&members)
    content = .dictionary(members)
  }

  private mutating func withElements(_ body: (inout [DocumentValue]) -> Void) {
    var elements: [DocumentValue]
    if case .array(let own) = content {
      elements = own
      content = .null
    } else {
      elements = array ?? []
    }
    body(&elements)
    content = .array(elements)
  }
}
