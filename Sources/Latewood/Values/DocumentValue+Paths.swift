import LatewoodQuery

/// Writing at a path.
extension DocumentValue {
  /// Sets the value at a path, and creates the dictionaries and arrays on the way that are missing
  /// or null.
  ///
  /// ```swift
  /// try value.setValue("Porto", at: "address.city")
  /// try value.setValue("+351 …", at: "phones[0]")           // sets or appends an element
  /// try value.setValue(nil, at: "address.street")           // removes a member
  /// ```
  ///
  /// - Parameters:
  ///   - value: the value. Nil removes a member, or sets an element to null; on a path that leads
  ///     to nothing it changes nothing.
  ///   - path: member names and indexes, `address.phones[0]`, with a backslash before a dot or a
  ///     bracket that belongs to a name. An index is at most the number of elements, where it
  ///     appends.
  /// - Throws: ``DatabaseError`` `invalidParameter` if the text is not a path, another value than a
  ///   dictionary or array is in the way, or an array has no such place. Nothing is changed then.
  public mutating func setValue(_ value: DocumentValue, at path: String) throws {
    let steps = try WritingStep.steps(of: path)
    guard try reach(steps, path, isRemoval: !value.exists) else { return }
    // From the inside out; the values on the way are moved, so that none is copied.
    var outer: [DocumentValue] = []
    var place = self
    self = .null
    for step in steps {
      if place.kind == nil || place.isNull { place = step.isIndex ? [] : [:] }
      let inner = place.take(step)
      outer.append(place)
      place = inner
    }
    place = value
    while let step = steps.dropLast(steps.count - outer.count).last, var around = outer.popLast() {
      around.put(place, step)
      place = around
    }
    self = place
  }

  /// Sets the value at a path. See the form for a `DocumentValue`.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter`; nothing is changed then.
  public mutating func setValue(_ value: some DocumentValueConvertible, at path: String) throws {
    let value: DocumentValue = value.documentValue
    try setValue(value, at: path)
  }

  /// Returns whether there is anything to write at a path; throws if nothing can be.
  private func reach(_ steps: [WritingStep], _ path: String, isRemoval: Bool) throws(DatabaseError) -> Bool {
    var place = self
    for (number, step) in steps.enumerated() {
      switch place.kind {
      case .dictionary:
        // A number in brackets is a name, too, if there is a dictionary.
        break
      case .array:
        guard let index = step.index, index <= place.count else {
          throw Self.refusal(
            path, "there is an array of \(place.count) elements in place of “\(step.name)”",
            "Use an index of 0 to \(place.count), which appends.")
        }
        if isRemoval, index == place.count { return false }
      case nil, .null:
        if isRemoval { return false }
        guard !step.isIndex || step.index == 0 else {
          throw Self.refusal(
            path, "there is no array for the element [\(step.name)]", "Begin a new array with [0].")
        }
        // Everything inside is new as well.
        for inner in steps[(number + 1)...] where inner.isIndex && inner.index != 0 {
          throw Self.refusal(
            path, "there is no array for the element [\(inner.name)]", "Begin a new array with [0].")
        }
        return true
      case .boolean, .number, .string, .data:
        throw Self.refusal(
          path, "the value around “\(step.name)” is neither a dictionary nor an array",
          "Remove that value first, or use another path.")
      }
      place = place.inner(step)
    }
    return !isRemoval || place.exists
  }

  private static func refusal(_ path: String, _ reason: String, _ advice: String) -> DatabaseError {
    DatabaseError(
      .invalidParameter, "nothing can be written at the path “\(path.prefix(80))”: \(reason)", advice: advice)
  }

  private func inner(_ step: WritingStep) -> DocumentValue {
    if kind == .array, let index = step.index { self[index] } else { self[step.name] }
  }

  /// Moves the value of a step out, so that it can be changed in place.
  private mutating func take(_ step: WritingStep) -> DocumentValue {
    if kind == .array, let index = step.index {
      guard index < count else { return .missing }
      let storage = uniqueElements()
      var value = DocumentValue.null
      swap(&value, &storage.elements[index])
      return value
    }
    return uniqueMembers().take(step.name)
  }

  private mutating func put(_ value: DocumentValue, _ step: WritingStep) {
    if kind == .array, let index = step.index {
      self[index] = value
    } else {
      uniqueMembers()[step.name] = value
    }
  }
}

/// A step of a path to write at.
private struct WritingStep {
  let name: String
  /// The name as an index; nil if it is not a number.
  let index: Int?
  /// Whether it is in brackets, so that a new collection for it is an array.
  let isIndex: Bool

  static func steps(of path: String) throws(DatabaseError) -> [WritingStep] {
    let parsed: FieldPath
    do throws(QueryError) { parsed = try FieldPath(parsing: path) } catch {
      throw DatabaseError(.invalidParameter, error.description)
    }
    var brackets = Self.brackets(in: path)[...]
    return parsed.steps.map {
      WritingStep(name: $0.name, index: $0.index, isIndex: brackets.popFirst() ?? false)
    }
  }

  /// Returns whether each step of a valid path is in brackets.
  private static func brackets(in path: String) -> [Bool] {
    var steps = [false]
    var isEscaped = false
    for scalar in path.unicodeScalars {
      if isEscaped {
        isEscaped = false
        continue
      }
      switch scalar {
      case "\\": isEscaped = true
      case ".": steps.append(false)
      case "[": steps.append(true)
      default: break
      }
    }
    return steps
  }
}

extension DocumentContent {
  /// The value at a path; missing if there is none: see ``DocumentValue/value(at:)``.
  public subscript(at path: String) -> DocumentValue { body.value(at: path) }
}

extension MutableDocument {
  /// Sets the value at a path, and creates the dictionaries and arrays on the way: see
  /// ``DocumentValue/setValue(_:at:)-(DocumentValue,_)``.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if the text is not a path, another value than a
  ///   dictionary or array is in the way, or an array has no such place. Nothing is changed then.
  public mutating func setValue(_ value: DocumentValue, at path: String) throws {
    try changeContent { (content) throws in try content.setValue(value, at: path) }
  }

  /// Sets the value at a path. See the form for a `DocumentValue`.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter`; nothing is changed then.
  public mutating func setValue(_ value: some DocumentValueConvertible, at path: String) throws {
    let value: DocumentValue = value.documentValue
    try setValue(value, at: path)
  }

  /// The value at a path; missing if there is none.
  ///
  /// ```swift
  /// document[at: "address.city"] = "Porto"
  /// document[at: "phones[0]"] = phone                          // a variable
  /// ```
  ///
  /// Setting does what `setValue(_:at:)` does. A subscript cannot throw: if nothing can be written
  /// there, the members stay as they are, and saving the document throws `invalidParameter`.
  public subscript(at path: String) -> DocumentValue {
    get { body.value(at: path) }
    set {
      do { try setValue(newValue, at: path) } catch { refuseToSave(because: error) }
    }
  }

  /// The value at a path as a Swift type: nil if it is missing or of another type. Setting nil
  /// removes a member.
  @_disfavoredOverload
  public subscript<Value: DocumentValueConvertible>(at path: String) -> Value? {
    get { Value(documentValue: body.value(at: path)) }
    set {
      do { try setValue(newValue.documentValue, at: path) } catch { refuseToSave(because: error) }
    }
  }
}
