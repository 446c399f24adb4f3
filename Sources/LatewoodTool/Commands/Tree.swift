import LatewoodInspection

extension CommandDescription {
  static let tree = CommandDescription(
    name: "tree",
    summary: "show the shape of the tree: levels, nodes, how full they are",
    operands: [.database],
    options: [
      OptionDescription(
        name: "--keyspace", value: "NAME", summary: "only nodes with entries of this keyspace"),
      .node,
    ],
    discussion: [
      "Level 0 is the leaves, which hold the entries; all keyspaces share one tree. It is the tree of the "
        + "newest checkpoint: later commits are still in the log.",
      "The bars show how many nodes have which length, in tenths of the power of two that nine in ten nodes fit "
        + "into. `latewood inspect map` shows where the nodes are; pass any of these offsets to --node.",
      "The keyspace \"catalog\", number 0, holds the names of the others.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood inspect tree my.latewood", explanation: "All of it, then by keyspace."),
      ExampleDescription(
        line: "latewood inspect tree my.latewood --node 0x40c0",
        explanation: "One node: its header, its prefix, and each entry or child."),
    ],
    json: [
      #"{"transaction":NUMBER,"depth":NUMBER,"nodeSize":BYTES,"entries":NUMBER,"#,
      #"  "levels":[{"level":NUMBER,"nodes":NUMBER,"items":NUMBER,"bytes":BYTES,"#,
      #"    "fillPercent":NUMBER,"damaged":NUMBER,"histogram":[11 NUMBERs]}, ...],"#,
      #"  "keyspaces":[{"number":NUMBER,"name":"TEXT","entries":NUMBER,"#,
      #"    "nodes":NUMBER,"nodeBytes":BYTES,"extents":NUMBER,"#,
      #"    "extentBytes":BYTES}, ...],"#,
      #"  "faults":[{"offset":BYTES,"what":"TEXT"}, ...]}"#,
      #"With --node: {"offset":BYTES,"length":BYTES,"kind":"leaf"|"branch","#,
      #"  "level":NUMBER,"transaction":NUMBER,"prefix":KEY,"entries":[{"key":KEY,"#,
      #"    "head":NUMBER,"slot":NUMBER,"valueBytes":BYTES,"extent":BYTES or null}"#,
      #"    , ...]} or, of a branch, "children":[{"separator":KEY or null,"#,
      #"    "offset":BYTES,"length":BYTES,"entries":NUMBER,"liveBytes":BYTES},"#,
      #"    ...]. A KEY is a full key, text or {"base64":"TEXT"}."#,
    ],
    isInspection: true
  ) { arguments, console in
    let file = try InspectedFile.opened(arguments)
    defer { file.close() }
    if let offset = try arguments.offset(of: .node) {
      guard try arguments.text(of: .keyspace) == nil else {
        throw Failure.usage("--node and --keyspace cannot be given together")
      }
      try NodeListing(at: offset, in: file).show(on: console)
      return .success
    }
    let tree = try LiveTree(file.checkpoint?.record.root, file.units)
    let keyspace = try number(of: arguments.text(of: .keyspace), in: tree, file.path)
    let listing = TreeListing(
      tree: tree, shape: TreeShape(tree, keyspace: keyspace), keyspace: keyspace,
      transaction: file.checkpoint?.record.transaction ?? 0, isFound: file.newestSlot != nil)
    let faults = file.faults + tree.faults
    if console.printsJSON {
      try console.json { listing.write(faults, to: &$0) }
    } else {
      for line in listing.lines(console.style) { try console.row(line) }
      try console.tell(faults, path: file.path)
    }
    return faults.isEmpty ? .success : .no
  }

  /// Returns the number of the keyspace with a name.
  private static func number(
    of name: String?, in tree: LiveTree, _ path: String
  ) throws -> UInt32? {
    guard let name else { return nil }
    // A keyspace of the user with this name takes precedence over the catalog.
    if let found = tree.names.filter({ $0.value == name }).map(\.key).max() { return found }
    let names = tree.names.values.sorted().prefix(8).map { KeyText.shown($0.utf8) }.joined(separator: ", ")
    throw Failure(
      .no, code: "noSuchKeyspace", "the newest checkpoint has no keyspace \(KeyText.shown(name.utf8))",
      advice: "Keyspaces: \(names). Keyspaces created since the last checkpoint are still in the log.",
      path: path)
  }
}
