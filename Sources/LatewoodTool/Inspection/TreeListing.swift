import LatewoodBytes
import LatewoodFleece
import LatewoodInspection

/// The shape of a tree in words and bars.
struct TreeListing {
  let tree: LiveTree
  let shape: TreeShape
  /// The keyspace to show; nil for the entire tree.
  let keyspace: UInt32?
  let transaction: UInt64
  /// Whether the newest tree could be determined despite damage.
  var isFound = true

  private static let bars = Array("▁▂▃▄▅▆▇█")

  private var entries: UInt64 {
    keyspace.map { tree.keyspaces[$0]?.entries ?? 0 } ?? tree.root?.entries ?? 0
  }

  func lines(_ style: Style) -> [String] {
    guard tree.root != nil else {
      return [
        isFound ? "The tree is empty: what there is, is in the log." : "No sound checkpoint leads to a tree."
      ]
    }
    let owner = keyspace.map { "\(KeyText.shown(tree.name(of: $0).utf8)): " } ?? ""
    var lines = [
      owner + "\(Quantity.count(shape.depth, "level", "levels")), "
        + "\(Quantity.count(shape.nodes, "node", "nodes")), \(Quantity.count(entries, "entry", "entries")), as of "
        + "transaction \(transaction)",
      "",
      style.bold(row("level", "nodes", "items", "bytes", "full", "lengths in tenths of \(nodeSize)")),
    ]
    for level in shape.levels {
      let damaged = level.damaged > 0 ? "  \(level.damaged) damaged" : ""
      lines.append(
        row(
          "\(level.level)", Quantity.count(level.nodes), Quantity.count(level.items),
          Quantity.bytes(level.bytes),
          "\(level.fill(of: shape.nodeSize))%", Self.bar(level.histogram) + damaged))
    }
    guard keyspace == nil else { return lines + [""] + extents }
    lines += ["", style.bold(keyspaceRow("keyspace", "entries", "nodes", "in nodes", "in extents"))]
    for (number, facts) in tree.keyspaces.sorted(by: { $0.key < $1.key }) {
      lines.append(
        keyspaceRow(
          KeyText.shown(tree.name(of: number).utf8), Quantity.count(facts.entries),
          Quantity.count(nodes(of: number)),
          Quantity.bytes(facts.nodeBytes), Quantity.bytes(facts.extentBytes)))
    }
    return lines
  }

  private var nodeSize: String { Quantity.bytes(UInt64(shape.nodeSize)) }

  private var extents: [String] {
    let facts = keyspace.flatMap { tree.keyspaces[$0] } ?? LiveTree.KeyspaceUsage()
    return [
      "\(Quantity.bytes(facts.nodeBytes)) in nodes, \(Quantity.bytes(facts.extentBytes)) in "
        + Quantity.count(facts.extents, "extent", "extents")
    ]
  }

  private func nodes(of number: UInt32) -> Int {
    tree.nodes.count { $0.keyspaces?.contains(number) ?? false }
  }

  private static func bar(_ counts: [Int]) -> String {
    let most = max(counts.max() ?? 0, 1)
    return String(
      counts.map { $0 == 0 ? "·" : bars[min($0 * bars.count / most, bars.count - 1)] })
  }

  private func row(
    _ level: String, _ nodes: String, _ items: String, _ bytes: String, _ fill: String, _ bar: String
  ) -> String {
    DisplayWidth.padded(level, to: 5, right: true) + DisplayWidth.padded(nodes, to: 11, right: true)
      + DisplayWidth.padded(items, to: 14, right: true) + DisplayWidth.padded(bytes, to: 12, right: true)
      + DisplayWidth.padded(fill, to: 6, right: true) + "  " + bar
  }

  private func keyspaceRow(
    _ name: String, _ entries: String, _ nodes: String, _ bytes: String, _ extents: String
  ) -> String {
    DisplayWidth.padded(DisplayWidth.fitted(name, to: 28), to: 28)
      + DisplayWidth.padded(entries, to: 14, right: true) + DisplayWidth.padded(nodes, to: 10, right: true)
      + DisplayWidth.padded(bytes, to: 13, right: true) + DisplayWidth.padded(extents, to: 13, right: true)
  }

  func write(_ faults: [StorageError], to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.member("transaction", transaction)
    writer.member("depth", shape.depth)
    writer.member("nodeSize", shape.nodeSize)
    writer.member("entries", entries)
    writer.array("levels", shape.levels) { writer, level in write(level, to: &writer) }
    let shown = tree.keyspaces.filter { keyspace == nil || keyspace == $0.key }.sorted { $0.key < $1.key }
    writer.list("keyspaces", shown) { writer, item in
      let (number, facts) = item
      writer.member("number", number)
      writer.member("name", tree.name(of: number))
      writer.member("entries", facts.entries)
      writer.member("nodes", nodes(of: number))
      writer.member("nodeBytes", facts.nodeBytes)
      writer.member("extents", facts.extents)
      writer.member("extentBytes", facts.extentBytes)
    }
    writer.member("faults", faults: faults)
    writer.endDictionary()
  }

  private func write(_ level: TreeShape.Level, to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.member("level", level.level)
    writer.member("nodes", level.nodes)
    writer.member("items", level.items)
    writer.member("bytes", level.bytes)
    writer.member("fillPercent", level.fill(of: shape.nodeSize))
    writer.member("damaged", level.damaged)
    writer.array("histogram", level.histogram) { writer, count in writer.number(count) }
    writer.endDictionary()
  }
}
