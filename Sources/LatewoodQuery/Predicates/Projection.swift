import LatewoodFleece

/// The members of a document that a query selects, at their paths in the document.
///
/// ```
/// name, address.city      {"address": {"city": "Porto"}, "name": "Anna"}
/// ```
package struct Projection: Sendable {
  private struct Branch {
    let name: String
    /// The path from the root of the document.
    let path: FieldPath
    var isWhole: Bool
    var children: [Branch] = []
  }

  private var branches: [Branch] = []

  /// - Parameter paths: the paths of the members. A path that continues another has no effect.
  package init(_ paths: [FieldPath]) {
    for path in paths { Projection.insert(path.steps[...], of: path, into: &branches) }
  }

  private static func insert(
    _ steps: ArraySlice<FieldPath.Step>, of path: FieldPath, into branches: inout [Branch]
  ) {
    guard let step = steps.first else { return }
    let index = branches.firstIndex { $0.name == step.name } ?? branches.count
    if index == branches.count {
      let length = path.steps.count - steps.count + 1
      branches.append(
        Branch(name: step.name, path: FieldPath(steps: Array(path.steps.prefix(length))), isWhole: false))
    }
    if steps.count == 1 { branches[index].isWhole = true }
    insert(steps.dropFirst(), of: path, into: &branches[index].children)
  }

  /// Writes an object with the members that exist.
  package func write(_ source: some FieldSource, to writer: inout FleeceWriter) throws(FleeceError) {
    try writer.beginDictionary()
    try Projection.write(branches, source, to: &writer)
    try writer.endDictionary()
  }

  private static func write(
    _ branches: [Branch], _ source: some FieldSource, to writer: inout FleeceWriter
  ) throws(FleeceError) {
    for branch in branches where try isThere(branch, source) {
      try writer.key(branch.name)
      if branch.isWhole {
        try source.withField(branch.path) { lookup throws(FleeceError) in
          if let value = lookup.value { try writer.value(value) }
        }
      } else {
        try writer.beginDictionary()
        try write(branch.children, source, to: &writer)
        try writer.endDictionary()
      }
    }
  }

  private static func isThere(_ branch: Branch, _ source: some FieldSource) throws(FleeceError) -> Bool {
    if branch.isWhole {
      return try source.withField(branch.path) { lookup throws(FleeceError) in lookup.value != nil }
    }
    for child in branch.children where try isThere(child, source) { return true }
    return false
  }
}
