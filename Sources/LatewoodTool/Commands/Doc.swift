import LatewoodDocuments
import LatewoodFleece
import LatewoodStore

extension OptionDescription {
  static let revision = OptionDescription(
    name: "--rev", value: "REVISION", summary: "get: this revision instead of the winner")
  static let documentCollection = OptionDescription(
    name: "--collection", value: "NAME", summary: "the collection; _default if not given")
}

extension CommandDescription {
  static let doc = CommandDescription(
    name: "doc",
    summary: "look at one document: get, revisions, conflicts",
    operands: [
      OperandDescription(
        name: "ACTION", summary: "get, revisions or conflicts", choices: ["get", "revisions", "conflicts"]),
      .database, OperandDescription(name: "ID", summary: "of the document"),
    ],
    options: [.documentCollection, .revision],
    discussion: [
      "get prints the document as JSON. revisions draws the tree of its revisions, each under the one that "
        + "it edits. conflicts lists the undeleted current revisions beside the winner; the exit code is 1 "
        + "if there is no such document.",
      "All of these work beside an app that has the database open.",
    ],
    examples: [
      ExampleDescription(line: "latewood doc get films.latewood 0000000007", explanation: "As JSON."),
      ExampleDescription(
        line: "latewood doc revisions films.latewood 0000000007", explanation: "What became of it."),
    ],
    json: [
      #"get: the document itself, with or without --json"#,
      #"else {"id":"ID","revisions":[{"revision":"REV","parent":"REV" or null,"#,
      #"  "leaf":true|false,"deleted":true|false,"winner":true|false}, ...]}"#,
    ]
  ) { arguments, console throws(Failure) in
    let action = try arguments.text(0)
    guard ["get", "revisions", "conflicts"].contains(action) else {
      throw .usage(
        "`latewood doc` cannot \(Arguments.quoted(Array(action.utf8)))",
        advice: "Write `latewood doc get`, `doc revisions` or `doc conflicts`, then DATABASE and ID.")
    }
    let id = try arguments.text(2)
    try DocumentDatabase.open(path: try arguments.text(1), .readOnly).closing { (database) throws(Failure) in
      let reads = try database.reads(try database.collection(arguments))
      let record: DocumentRecord?
      do throws(DocumentError) { record = try reads.record(of: id) } catch { throw Failure(error) }
      guard let record else { throw Self.missing(id, "there is no document") }
      switch action {
      case "get": try console.output.write(try json(of: id, record, reads, arguments) + [UInt8(ascii: "\n")])
      case "revisions": try RevisionDrawing(record.tree, record.tree.nodes).print(id, on: console)
      default: try RevisionDrawing(record.tree, record.tree.conflicts).print(id, on: console)
      }
    }
    return .success
  }

  private static func missing(_ id: String, _ what: String) -> Failure {
    Failure(.no, code: "notFound", "\(what) \(Arguments.quoted(Array(id.utf8)))")
  }

  private static func json(
    of id: String, _ record: DocumentRecord, _ reads: DocumentReads, _ arguments: Arguments
  ) throws(Failure) -> [UInt8] {
    do {
      let wanted = try arguments.text(of: .revision).map { try RevisionID($0) }
      guard let revision = wanted ?? record.tree.winner?.id else { throw missing(id, "there is no document") }
      if wanted == nil, record.tree[revision]?.isDeleted == true {
        throw missing(id, "there is only a tombstone of the document")
      }
      guard let body = try reads.body(of: revision, in: record) else {
        throw missing("\(revision)", "the body is not kept of the revision")
      }
      return try JSON.text(of: body)
    } catch { throw Failure(error) }
  }
}

/// Revisions of one document in text, each indented under the one that it edits.
struct RevisionDrawing {
  private let tree: RevisionTree
  private let shown: [RevisionTree.Node]

  init(_ tree: RevisionTree, _ shown: [RevisionTree.Node]) {
    self.tree = tree
    self.shown = shown
  }

  func print(_ id: String, on console: Console) throws(Failure) {
    guard !console.printsJSON else { return try console.json { write(id, to: &$0) } }
    for line in lines { try console.line(DisplayWidth.fitted(line, to: console.width)) }
  }

  /// A branch goes on at the same indent; where it parts, each child but the last to be drawn is set in.
  var lines: [String] {
    guard shown.count == tree.nodes.count else { return shown.map { text($0) } }
    var lines: [String] = []
    var children: [RevisionID: [RevisionTree.Node]] = [:]
    var rest: [(node: RevisionTree.Node, indent: Int, isBranch: Bool)] = []
    for node in tree.nodes.sorted(by: { $0.id < $1.id }) {
      if let parent = tree.parent(of: node.id) {
        children[parent.id, default: []].append(node)
      } else {
        rest.append((node, 0, false))
      }
    }
    while let next = rest.popLast() {
      let margin = String(repeating: " ", count: next.indent * 3)
      lines.append(margin + (next.isBranch ? "└─ " : "") + text(next.node))
      let following = children[next.node.id] ?? []
      // Where there is one child it follows below; where there are more, each begins a branch.
      let indent = next.indent + (next.isBranch ? 1 : 0)
      for child in following { rest.append((child, indent, following.count > 1)) }
    }
    return lines
  }

  private func text(_ node: RevisionTree.Node) -> String {
    var text = "\(node.id)"
    if node.isDeleted { text += "  deleted" }
    if node.id == tree.winner?.id {
      text += "  winner"
    } else if node.isLeaf, !node.isDeleted {
      text += "  conflict"
    }
    return text
  }

  private func write(_ id: String, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("id", id)
    writer.name("revisions")
    writer.beginArray()
    for node in shown {
      writer.beginObject()
      writer.member("revision", "\(node.id)")
      writer.name("parent")
      if let parent = tree.parent(of: node.id) { writer.string("\(parent.id)") } else { writer.null() }
      writer.member("leaf", node.isLeaf)
      writer.member("deleted", node.isDeleted)
      writer.member("winner", node.id == tree.winner?.id)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
  }
}
