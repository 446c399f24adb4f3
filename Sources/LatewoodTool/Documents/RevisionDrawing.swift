import LatewoodDocuments
import LatewoodFleece

/// The revisions of one document as text, each below its parent.
///
/// ```
/// 1-0159f1aa…                               no body
/// ├─ 2-018c00d2…  conflict                  23 bytes
/// └─ 2-01f3ee01…                            no body
///    3-01aa9c3b…  winner                    1.2 KiB
/// ```
///
/// A single child continues below its parent; several children begin branches. The branch of the
/// winner is last.
struct RevisionDrawing {
  private let tree: RevisionTree
  /// The lengths of the stored bodies.
  private let bodyLengths: [RevisionID: Int]
  private static let sizeWidth = 12

  init(_ tree: RevisionTree, bodyLengths: [RevisionID: Int]) {
    self.tree = tree
    self.bodyLengths = bodyLengths
  }

  /// - Parameter shown: all revisions, or those to list without their tree.
  func print(_ id: String, _ shown: [RevisionTree.Node], on console: Console) throws {
    guard !console.printsJSON else { return try console.json { write(id, shown, to: &$0) } }
    if shown.count == tree.nodes.count {
      for line in lines(in: console.width, console.style) { try console.line(line) }
    } else {
      for node in shown { try console.line(line(node, margin: "", in: console.width, console.style)) }
    }
  }

  func lines(in width: Int, _ style: Style = .plain) -> [String] {
    var children: [RevisionID: [RevisionTree.Node]] = [:]
    var roots: [RevisionTree.Node] = []
    for node in tree.nodes {
      if let parent = tree.parent(of: node.id) {
        children[parent.id, default: []].append(node)
      } else {
        roots.append(node)
      }
    }
    // The branches that lead to the winner; they are drawn last.
    let main = Set(tree.winner.map { tree.history(of: $0.id).map(\.id) } ?? [])
    func ordered(_ nodes: [RevisionTree.Node]) -> [RevisionTree.Node] {
      nodes.sorted { main.contains($0.id) == main.contains($1.id) ? $0.id < $1.id : main.contains($1.id) }
    }
    var lines: [String] = []
    // Without recursion, because a tree can be as deep as the database allows.
    var rest: [(node: RevisionTree.Node, margin: String, mark: String, below: String)] = []
    for root in ordered(roots).reversed() { rest.append((root, "", "", "")) }
    while let next = rest.popLast() {
      lines.append(line(next.node, margin: next.margin + next.mark, in: width, style))
      let margin = next.margin + next.below
      let following = ordered(children[next.node.id] ?? [])
      if following.count == 1 {
        rest.append((following[0], margin, "", ""))
      } else {
        for (place, child) in following.enumerated().reversed() {
          let isLast = place == following.count - 1
          rest.append((child, margin, isLast ? "└─ " : "├─ ", isLast ? "   " : "│  "))
        }
      }
    }
    return lines
  }

  private func line(
    _ node: RevisionTree.Node, margin: String, in width: Int, _ style: Style
  ) -> String {
    var words = ""
    if node.isDeleted { words += "  deleted" }
    if node.id == tree.winner?.id {
      words += "  winner"
    } else if node.isLeaf, !node.isDeleted {
      words += "  conflict"
    }
    let size = bodyLengths[node.id].map { Quantity.bytes(UInt64($0)) } ?? "no body"
    let room = width - Self.sizeWidth
    // Show as much of the digest as fits, because its first digits identify it. If a tree is too
    // wide, its margin is shortened first.
    let margin = DisplayWidth.fitted(margin, to: max(3, room - words.count - 14))
    let name = DisplayWidth.fitted("\(node.id)", to: max(12, room - DisplayWidth.of(margin) - words.count))
    let text = DisplayWidth.padded(margin + name + words, to: room)
    let shown = node.id == tree.winner?.id ? style.good(text) : node.isDeleted ? style.dim(text) : text
    return shown + DisplayWidth.padded(size, to: Self.sizeWidth, right: true)
  }

  private func write(_ id: String, _ shown: [RevisionTree.Node], to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.member("id", id)
    writer.list("revisions", shown) { writer, node in
      writer.member("revision", "\(node.id)")
      writer.optional("parent", text: tree.parent(of: node.id).map { "\($0.id)" })
      writer.member("leaf", node.isLeaf)
      writer.member("deleted", node.isDeleted)
      writer.member("winner", node.id == tree.winner?.id)
      writer.optional("bodyLength", bodyLengths[node.id])
    }
    writer.endDictionary()
  }
}
