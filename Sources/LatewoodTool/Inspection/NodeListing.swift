import LatewoodFleece
import LatewoodInspection

/// The complete contents of a node.
struct NodeListing {
  let node: NodeContent

  init(at offset: UInt64, in file: InspectedFile) throws {
    guard let found = try file.units.node(at: offset) else {
      var failure = Failure(
        .no, code: "noSuchNode", "no sound node starts here",
        advice:
          "Nodes start at multiples of 64; `latewood inspect map --json` lists them, `latewood inspect hex` shows any bytes.",
        path: file.path)
      failure.offset = offset
      throw failure
    }
    node = NodeContent(found)
  }

  func show(on console: Console) throws {
    if console.printsJSON { return try console.json { write(to: &$0) } }
    try console.fields([
      ("node", "\(node.isLeaf ? "leaf" : "branch"), level \(node.level)"),
      ("offset", "\(node.reference.offset)"),
      ("length", Quantity.bytes(UInt64(node.reference.length))),
      ("checksum", "0x" + Self.hexadecimal(node.reference.checksum) + ", its low 32 bits"),
      ("transaction", "\(node.transaction)"),
      (node.isLeaf ? "entries" : "children", Quantity.count(node.count)),
      ("prefix", node.prefix.isEmpty ? "none" : "\(node.prefix.count): \(Self.key(node.prefix))"),
    ])
    try console.line("")
    if node.isLeaf { try showEntries(console) } else { try showChildren(console) }
  }

  private func showEntries(_ console: Console) throws {
    let keyWidth = max(16, (console.width - 16) / 2)
    try console.row(
      console.style.bold(" slot  head      " + DisplayWidth.padded("key", to: keyWidth - 2) + " value"))
    for entry in node.entries {
      let value =
        entry.extent.map { "extent at \($0), \(Quantity.bytes(UInt64(entry.valueLength)))" }
        ?? KeyText.shown(entry.value)
      let row =
        DisplayWidth.padded("\(entry.slot)", to: 5, right: true) + "  " + Self.hexadecimal(entry.head) + "  "
        + DisplayWidth.padded(DisplayWidth.fitted(Self.key(entry.key), to: keyWidth - 3), to: keyWidth - 2)
        + " "
      try console.row(row + DisplayWidth.fitted(value, to: max(8, console.width - DisplayWidth.of(row))))
    }
  }

  private func showChildren(_ console: Console) throws {
    try console.row(console.style.bold("          child  length       entries        live  from key"))
    for child in node.children {
      let row =
        DisplayWidth.padded("\(child.subtree.reference.offset)", to: 15, right: true)
        + DisplayWidth.padded("\(child.subtree.reference.length)", to: 8, right: true)
        + DisplayWidth.padded(Quantity.count(child.subtree.entries), to: 14, right: true)
        + DisplayWidth.padded(Quantity.bytes(child.subtree.liveBytes), to: 12, right: true) + "  "
      let separator = child.separator.map(Self.key) ?? "the lowest"
      try console.row(row + DisplayWidth.fitted(separator, to: max(8, console.width - DisplayWidth.of(row))))
    }
  }

  /// Returns a full key, or the beginning of one, in readable form: the number of the keyspace,
  /// then the rest.
  static func key(_ bytes: [UInt8]) -> String {
    guard bytes.count >= 4 else { return KeyText.hexMark + Hex.encode(bytes) }
    let keyspace = bytes[..<4].bigEndian(UInt32.self)
    return "\(keyspace)/" + KeyText.shown(bytes[4...])
  }

  private static func hexadecimal(_ number: UInt32) -> String {
    Hex.encode((0..<4).map { UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * $0)) })
  }

  private func write(to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.member("offset", node.reference.offset)
    writer.member("length", node.reference.length)
    writer.member("kind", node.isLeaf ? "leaf" : "branch")
    writer.member("level", node.level)
    writer.member("transaction", node.transaction)
    writer.member("prefix", data: node.prefix)
    if node.isLeaf { writeEntries(to: &writer) } else { writeChildren(to: &writer) }
    writer.endDictionary()
  }

  private func writeEntries(to writer: inout JSONOutput) {
    writer.list("entries", node.entries) { writer, entry in
      writer.member("key", data: entry.key)
      writer.member("head", entry.head)
      writer.member("slot", entry.slot)
      writer.member("valueBytes", entry.valueLength)
      writer.optional("extent", entry.extent)
    }
  }

  private func writeChildren(to writer: inout JSONOutput) {
    writer.list("children", node.children) { writer, child in
      writer.key("separator")
      if let separator = child.separator { writer.bytes(separator) } else { writer.null() }
      writer.member("offset", child.subtree.reference.offset)
      writer.member("length", child.subtree.reference.length)
      writer.member("entries", child.subtree.entries)
      writer.member("liveBytes", child.subtree.liveBytes)
    }
  }
}
