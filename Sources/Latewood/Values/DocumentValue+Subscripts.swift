import LatewoodFleece

extension DocumentValue {
  /// The value of a key of a dictionary. Missing if this is not a dictionary, or has no such key.
  ///
  /// Setting turns any other value into a dictionary, so that a whole path can be set in one step.
  /// Setting nil removes the member, and setting ``null`` stores null. The value at the end of a
  /// path is changed in place: `value["list"].append(x)` does not copy the list, unless another
  /// value shares it.
  public subscript(key: String) -> DocumentValue {
    get {
      switch content {
      case .dictionary(let storage): storage[key]
      case .stored(let element): DocumentValue(stored: (try? element.element(for: key)) ?? nil)
      default: .missing
      }
    }
    set {
      guard newValue.exists else {
        removeValue(forKey: key)
        return
      }
      uniqueMembers()[key] = newValue
    }
    _modify {
      guard case .dictionary = content else {
        // Only an existing result turns another value into a dictionary.
        var value = self[key]
        defer { self[key] = value }
        yield &value
        return
      }
      let storage = uniqueMembers()
      // The value is moved out, so that it is changed in place and not copied.
      var value = storage.take(key)
      defer { storage[key] = value }
      yield &value
    }
  }

  /// The element at an index of an array. Missing if this is not an array, or has no such element.
  ///
  /// Setting at `count` appends, and turns any other value into an array. Setting beyond that is a
  /// programming error. An element cannot be missing: setting nil stores null, and
  /// `removeElement(at:)` removes.
  public subscript(index: Int) -> DocumentValue {
    get {
      switch content {
      case .array(let storage):
        storage.elements.indices.contains(index) ? storage.elements[index] : .missing
      case .stored(let element): DocumentValue(stored: (try? element.element(at: index)) ?? nil)
      default: .missing
      }
    }
    set {
      let storage = uniqueElements()
      let count = storage.elements.count
      precondition(index >= 0 && index <= count, "the array has \(count) elements")
      if index == count {
        storage.elements.append(newValue.orNull)
      } else {
        storage.elements[index] = newValue.orNull
      }
    }
    _modify {
      guard hasBuiltElement(at: index) else {
        var value = self[index]
        defer { self[index] = value }
        yield &value
        return
      }
      let storage = uniqueElements()
      var value = DocumentValue.null
      swap(&value, &storage.elements[index])
      defer { storage.elements[index] = value.orNull }
      yield &value
    }
  }

  /// A separate function, so that it leaves no reference to the elements when they are changed.
  private func hasBuiltElement(at index: Int) -> Bool {
    guard case .array(let storage) = content else { return false }
    return storage.elements.indices.contains(index)
  }

  /// Removes a member of a dictionary, if it exists.
  public mutating func removeValue(forKey key: String) {
    guard kind == .dictionary, contains(key) else { return }
    uniqueMembers()[key] = .missing
  }

  /// Adds an element at the end of an array; turns any other value into an array first. Nil adds
  /// null.
  public mutating func append(_ value: some DocumentValueConvertible) {
    uniqueElements().elements.append(value.documentValue.orNull)
  }
  /// Adds an element at the end of an array; turns any other value into an array first. Nil adds
  /// null.
  public mutating func append(_ value: DocumentValue) { uniqueElements().elements.append(value.orNull) }

  /// Inserts an element before the one at an index, or at the end. Nil inserts null.
  public mutating func insert(_ value: some DocumentValueConvertible, at index: Int) {
    insert(value.documentValue, at: index)
  }
  /// Inserts an element before the one at an index, or at the end. Nil inserts null. An index
  /// beyond the end is a programming error.
  public mutating func insert(_ value: DocumentValue, at index: Int) {
    let storage = uniqueElements()
    let count = storage.elements.count
    precondition(index >= 0 && index <= count, "the array has \(count) elements")
    storage.elements.insert(value.orNull, at: index)
  }

  /// Removes the element at an index, which must exist.
  public mutating func removeElement(at index: Int) {
    let storage = uniqueElements()
    precondition(storage.elements.indices.contains(index), "the array has \(storage.elements.count) elements")
    storage.elements.remove(at: index)
  }
}
