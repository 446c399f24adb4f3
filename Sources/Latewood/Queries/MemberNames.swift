import LatewoodQuery

/// Finds the stored name of the member at a key path.
///
/// Swift describes a key path to a stored property by its name, and one to a computed property by
/// an address. The name is checked against the coding keys that the type decodes.
enum MemberNames {
  static func path<Root, Member>(of member: KeyPath<Root, Member>) -> Result<FieldPath, DatabaseError> {
    let text = "\(member)"
    let start = "\\" + String(describing: Root.self) + "."
    let name = text.hasPrefix(start) ? String(text.dropFirst(start.count)) : ""
    guard !name.isEmpty, name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" }) else {
      return .failure(
        DatabaseError(
          .invalidParameter, "\(text) is not the name of a stored member of \(Root.self)",
          advice: "Name the member by a string: $0[\"name\"]."))
    }
    if let type = Root.self as? any Decodable.Type, let known = CodingKeyProbe.keys(of: type),
      !known.contains(name)
    {
      return .failure(
        DatabaseError(
          .invalidParameter, "\(Root.self) stores no member under the name \(name)",
          advice: "Name the member by its coding key as a string: $0[\"name\"]."))
    }
    return .success(FieldPath(name))
  }
}
