import LatewoodQuery

/// Finds the path in documents of the member at a key path: for conditions, orders, columns and
/// indexes alike.
///
/// Swift describes a key path to a stored property by its name, and one to a computed property by
/// an address. ``CodingKeyProbe`` finds the coding key that belongs to the name.
enum MemberNames {
  static func path<Root, Member>(of member: KeyPath<Root, Member>) -> Result<FieldPath, DatabaseError> {
    let text = "\(member)"
    let start = "\\" + String(describing: Root.self) + "."
    let name = text.hasPrefix(start) ? String(text.dropFirst(start.count)) : ""
    guard let type = Root.self as? any Decodable.Type else {
      return .failure(
        DatabaseError(
          .invalidParameter, "the coding keys of \(Root.self) are unknown, because it is not Decodable",
          advice: "Name the member by its coding key as a string: $0[\"name\"]."))
    }
    if let path = CodingKeyProbe.path(of: name, in: type) { return .success(path) }
    let isComputed = text.contains("<computed")
    return .failure(
      refusal(of: isComputed ? "a property that is computed, wrapped or not final" : name, type))
  }

  private static func refusal(of name: String, _ type: any Decodable.Type) -> DatabaseError {
    let members = CodingKeyProbe.members(of: type)
    guard let example = members.first else {
      return DatabaseError(
        .invalidParameter, "\(type) is not stored as an object, so \(name) is not a member of it",
        advice: "Compare the whole value, or name a part by its place in the document: $0[\"name\"].")
    }
    return DatabaseError(
      .invalidParameter, "\(type) has no coding key for \(name)",
      advice: """
        Name the member by its coding key as a string, as in $0["\(example)"]. Known keys are \
        \(members.joined(separator: ", ")).
        """)
  }
}
