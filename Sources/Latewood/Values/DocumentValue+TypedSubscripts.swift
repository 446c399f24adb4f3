// Subscripts with Swift types. They are disfavored, so that `document["a"]["b"]`, literals and
// comparisons with literals always mean a `DocumentValue`.

extension DocumentValue {
  /// The value of a key of a dictionary as a Swift type: nil if it is missing or of another type.
  /// Setting nil removes the member.
  @_disfavoredOverload
  public subscript<Value: DocumentValueConvertible>(key: String) -> Value? {
    get { Value(documentValue: member(key)) }
    set { setMember(key, newValue.documentValue) }
  }

  /// The element at an index of an array as a Swift type: nil if it is missing or of another type.
  /// Setting nil stores null.
  @_disfavoredOverload
  public subscript<Value: DocumentValueConvertible>(index: Int) -> Value? {
    get { Value(documentValue: element(index)) }
    set { setElement(index, newValue.documentValue) }
  }

  /// The value of a key as a plain dictionary, whose values can be of any types that documents can
  /// hold: `value["address"] = ["city": city, "since": 2019]`. If one is of another type, saving
  /// the document throws `invalidParameter`.
  @_disfavoredOverload
  public subscript(key: String) -> [String: Any?]? {
    get { PlainValues.value(of: member(key)) as? [String: Any] }
    set { setMember(key, DocumentValue(unchecked: newValue)) }
  }

  /// The value of a key as a plain array, whose elements can be of any types that documents can
  /// hold: `value["row"] = [name, 7, true]`. If one is of another type, saving the document throws
  /// `invalidParameter`.
  @_disfavoredOverload
  public subscript(key: String) -> [Any?]? {
    get { PlainValues.value(of: member(key)) as? [Any] }
    set { setMember(key, DocumentValue(unchecked: newValue)) }
  }

  private func member(_ key: String) -> DocumentValue { self[key] }
  private func element(_ index: Int) -> DocumentValue { self[index] }
  private mutating func setMember(_ key: String, _ value: DocumentValue) { self[key] = value }
  private mutating func setElement(_ index: Int, _ value: DocumentValue) { self[index] = value }
}

extension DocumentContent {
  /// The value of a member as a Swift type: nil if it is missing or of another type.
  ///
  /// ```swift
  /// let born: Date? = document["born"]
  /// ```
  @_disfavoredOverload
  public subscript<Value: DocumentValueConvertible>(key: String) -> Value? { body[key] }

  /// Returns the value at a path, missing if there is none: see ``DocumentValue/value(at:)``.
  public func value(at path: String) -> DocumentValue { body.value(at: path) }
}

extension MutableDocument {
  /// The value of a member as a Swift type: nil if it is missing or of another type. Setting nil
  /// removes the member.
  @_disfavoredOverload
  public subscript<Value: DocumentValueConvertible>(key: String) -> Value? {
    get { body[key] }
    set { self[key] = newValue.documentValue }
  }

  /// The value of a member as a plain dictionary, whose values can be of any types that documents
  /// can hold: `document["address"] = ["city": city, "since": 2019]`. If one is of another type,
  /// saving throws `invalidParameter`.
  @_disfavoredOverload
  public subscript(key: String) -> [String: Any?]? {
    get { body[key] }
    set { self[key] = DocumentValue(unchecked: newValue) }
  }

  /// The value of a member as a plain array, whose elements can be of any types that documents can
  /// hold: `document["row"] = [name, 7, true]`. If one is of another type, saving throws
  /// `invalidParameter`.
  @_disfavoredOverload
  public subscript(key: String) -> [Any?]? {
    get { body[key] }
    set { self[key] = DocumentValue(unchecked: newValue) }
  }

  /// Creates a document with members of any types that documents can hold.
  ///
  /// ```swift
  /// let note = try MutableDocument(["title": title, "pages": 3, "tags": tags])
  /// ```
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if a value is of another type, with the path to
  ///   it; `badDocumentID`.
  @_disfavoredOverload
  public init(id: String? = nil, _ content: [String: Any?]) throws {
    try self.init(id: id)
    try setContent(content)
  }

  /// Replaces all members with the members of a plain dictionary, such as the result of
  /// `toDictionary()`.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if a value is of a type that documents cannot
  ///   hold, with the path to it; the document is then unchanged.
  @_disfavoredOverload
  public mutating func setContent(_ members: [String: Any?]) throws {
    let value = try DocumentValue(plain: members)
    removeAll()
    for (key, member) in value.members { self[key] = member }
  }
}
