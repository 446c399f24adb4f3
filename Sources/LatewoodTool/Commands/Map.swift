import LatewoodInspection

extension OptionDescription {
  static let svg = OptionDescription(
    name: "--svg", value: "OUT", summary: "write a drawing for a browser; - is standard output")
}

extension CommandDescription {
  static let map = CommandDescription(
    name: "map",
    summary: "draw the file, from its first byte to its last",
    operands: [.database],
    options: [.svg],
    discussion: [
      "Each letter stands for the same number of bytes and shows the kind of most of them: capitals are live, "
        + "small letters dead. The legend says how much there is of each.",
      "The drawing shows the same in more detail; pointing at a region shows its kind, keyspace and place. "
        + "It is a single file, and follows the light or dark setting of the browser.",
      "It reads the file without a store, so it also works on a damaged one, and beside a writer.",
    ],
    examples: [
      ExampleDescription(line: "latewood map my.latewood", explanation: "See where the bytes are."),
      ExampleDescription(
        line: "latewood map my.latewood --svg map.svg", explanation: "Then open map.svg in a browser."),
    ],
    json: [
      #"{"path":"TEXT","fileBytes":BYTES,"kinds":{"KIND":BYTES, ...},"#,
      #"  "keyspaces":[{"number":NUMBER,"name":"TEXT","entries":NUMBER,"#,
      #"    "nodeBytes":BYTES,"extentBytes":BYTES}, ...],"#,
      #"  "regions":[{"offset":BYTES,"length":BYTES,"kind":"KIND","#,
      #"    "keyspace":NUMBER or null}, ...],"#,
      #"  "faults":[{"offset":BYTES,"what":"TEXT"}, ...]}"#,
      "KIND is header, slot, node, extent, log, checkpoint, frame, deadNode,",
      "deadCommit, hole, skipped, reserved or damaged.",
    ]
  ) { arguments, console throws(Failure) in
    let path = try arguments.text(0)
    let file = try InspectedFile.opened(arguments)
    let map: FileMap
    do { map = try FileMap(file) } catch { throw Failure(error) }
    file.close()
    if let target = try arguments.text(of: .svg) {
      guard !console.printsJSON else { throw .usage("--svg and --json cannot be given together") }
      let drawing = MapDrawing(map, name: path)
      try ExportTarget.write(to: target, on: console) { (output) throws(Failure) in
        try output.write(drawing.svg())
      }
      if target != "-" { try console.row("Drew \(KeyText.shown(target.utf8)). Open it in a browser.") }
    } else if console.printsJSON {
      try console.json { write(map, path, to: &$0) }
    } else {
      try print(map, path, on: console)
    }
    try console.tell(map.faults, path: path)
    return map.faults.isEmpty ? .success : .no
  }

  private static func print(_ map: FileMap, _ path: String, on console: Console) throws(Failure) {
    let blocks = BlockMap(map, width: console.width)
    let style = console.style
    try console.row(
      style.bold(KeyText.shown(path.utf8))
        + ": \(Quantity.bytes(map.size)), each letter \(Quantity.bytes(blocks.cellLength))")
    try console.line("")
    for line in blocks.lines(style) { try console.row(line) }
    try console.line("")
    for line in blocks.legend(style) { try console.row(line) }
    let keyspaces = map.tree.keyspaces.sorted { $0.value.bytes > $1.value.bytes }
    guard !keyspaces.isEmpty else { return }
    try console.line("")
    try console.row(style.bold("live by keyspace, as of the newest checkpoint"))
    for (number, facts) in keyspaces.prefix(20) {
      let name = DisplayWidth.fitted(KeyText.shown(map.tree.name(of: number).utf8), to: 22)
      try console.row(
        "   " + DisplayWidth.padded(name, to: 24)
          + DisplayWidth.padded(Quantity.bytes(facts.bytes), to: 12, right: true)
          + DisplayWidth.padded(BlockMap.share(facts.bytes, of: map.size), to: 8, right: true)
          + DisplayWidth.padded(Quantity.count(facts.entries, "entry", "entries"), to: 18, right: true))
    }
    if keyspaces.count > 20 { try console.row("   and \(keyspaces.count - 20) more; --json lists them") }
  }

  private static func write(_ map: FileMap, _ path: String, to writer: inout JSONWriter) {
    let totals = map.totals
    writer.beginObject()
    writer.member("path", path)
    writer.member("fileBytes", map.size)
    writer.name("kinds")
    writer.beginObject()
    for kind in Region.Kind.allCases { writer.member(kind.rawValue, totals[kind] ?? 0) }
    writer.endObject()
    writer.list("keyspaces", map.tree.keyspaces.sorted(by: { $0.key < $1.key })) { writer, item in
      let (number, facts) = item
      writer.member("number", number)
      writer.member("name", map.tree.name(of: number))
      writer.member("entries", facts.entries)
      writer.member("nodeBytes", facts.nodeBytes)
      writer.member("extentBytes", facts.extentBytes)
    }
    writer.list("regions", map.regions) { writer, region in
      writer.member("offset", region.range.lowerBound)
      writer.member("length", region.length)
      writer.member("kind", region.kind.rawValue)
      writer.optional("keyspace", region.keyspace)
    }
    writer.member("faults", faults: map.faults)
    writer.endObject()
  }
}
