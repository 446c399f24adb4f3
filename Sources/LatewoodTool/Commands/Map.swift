import LatewoodFleece
import LatewoodInspection

extension OptionDescription {
  static let svg = OptionDescription(
    name: "--svg", value: "OUT", summary: "write a drawing for a browser; - is standard output")
  static let mapFrom = OptionDescription(
    name: "--from", value: "OFFSET", summary: "draw the part of the file that begins here")
  static let mapLength = OptionDescription(
    name: "--length", value: "NUMBER", summary: "the number of bytes to draw")
  static let mapBy = OptionDescription(
    name: "--by", value: "WHAT",
    summary: "what letters and colours show; kind unless given", choices: ["kind", "keyspace"])
}

extension CommandDescription {
  static let map = CommandDescription(
    name: "map",
    summary: "draw the file, from its first byte to its last",
    operands: [.database],
    options: [.mapFrom, .mapLength, .mapBy, .svg],
    discussion: [
      "Each letter stands for the same number of bytes and shows the kind of most of them: capitals are live, "
        + "small letters dead. The legend says how much there is of each.",
      "With --by keyspace, each letter shows the keyspace that has the most live bytes there, or a dot "
        + "where none has any. A collection of documents has several keyspaces.",
      "--from and --length show a part of the file in more detail.",
      "The drawing shows the same in more detail; pointing at a region shows its kind, keyspace and place. "
        + "It is a single file, and follows the light or dark setting of the browser.",
      "Without its key, the map of an encrypted file has no keyspaces, and does not tell live from dead.",
      "It reads the file without a store, so it also works on a damaged one, and beside a writer. "
        + "Blocks that the disk cannot read are drawn as such.",
    ],
    examples: [
      ExampleDescription(line: "latewood inspect map my.latewood", explanation: "See where the bytes are."),
      ExampleDescription(
        line: "latewood inspect map my.latewood --by keyspace", explanation: "See where each keyspace lies."),
      ExampleDescription(
        line: "latewood inspect map my.latewood --from 0x10000 --length 65536",
        explanation: "Look at 64 KiB from byte 65,536 on."),
      ExampleDescription(
        line: "latewood inspect map my.latewood --svg map.svg", explanation: "Then open map.svg in a browser."
      ),
    ],
    json: [
      #"{"path":"TEXT","fileBytes":BYTES,"kinds":{"KIND":BYTES, ...},"#,
      #"  "keyspaces":[{"number":NUMBER,"name":"TEXT","entries":NUMBER,"#,
      #"    "nodeBytes":BYTES,"extentBytes":BYTES}, ...],"#,
      #"  "regions":[{"offset":BYTES,"length":BYTES,"kind":"KIND","#,
      #"    "keyspace":NUMBER or null}, ...],"#,
      #"  "faults":[{"offset":BYTES,"what":"TEXT"}, ...]}"#,
      "KIND is header, slot, node, extent, log, checkpoint, frame, deadNode,",
      "deadCommit, hole, skipped, reserved, damaged or unreadable. With --from or",
      "--length, kinds and regions describe the part. Without the key of an",
      "encrypted file, lockedNode and lockedCommit are live or dead.",
    ],
    isInspection: true
  ) { arguments, console in
    let path = try arguments.text(0)
    let file = try InspectedFile.opened(at: path, needsKey: false, badBlocks: .readAsZeros)
    let whole = try FileMap(file)
    let isLocked = file.isLocked
    file.close()
    let map = whole.part(try part(of: whole, arguments))
    let showsKeyspaces = try arguments.text(of: .mapBy) == "keyspace"
    if let target = try arguments.text(of: .svg) {
      guard !console.printsJSON else { throw Failure.usage("--svg and --json cannot be given together") }
      let drawing = MapDrawing(map, name: path, showsKeyspaces: showsKeyspaces)
      try ExportTarget.write(to: target, on: console) { output in
        try output.write(drawing.svg())
      }
      if target != "-" { try console.row("Drew \(KeyText.shown(target.utf8)). Open it in a browser.") }
    } else if console.printsJSON {
      try console.json { write(map, path, to: &$0) }
    } else {
      try print(map, path, showsKeyspaces, on: console)
    }
    if isLocked, !console.printsJSON {
      try console.noteSentence(
        "The file is encrypted. With its key, the map also shows live data. " + Failure.whatToDoWithoutKey)
    }
    try console.tell(map.faults, path: path)
    return map.faults.isEmpty ? .success : .no
  }

  /// Returns the part of the file that the options choose.
  private static func part(of map: FileMap, _ arguments: Arguments) throws -> Range<UInt64> {
    let start = try arguments.offset(of: .mapFrom) ?? 0
    let length = try arguments.number(of: .mapLength)
    guard start < map.size || (start == 0 && map.size == 0) else {
      throw Failure.usage(
        "byte \(Quantity.count(start)) is behind the end of the file",
        advice: "The file has \(Quantity.count(map.size)) bytes.")
    }
    guard length != 0 else { throw Failure.usage("--length needs at least 1") }
    return start..<start + min(length ?? map.size, map.size - start)
  }

  private static func print(
    _ map: FileMap, _ path: String, _ showsKeyspaces: Bool, on console: Console
  ) throws {
    let blocks = BlockMap(map, width: console.width)
    let style = console.style
    let start = Quantity.count(map.range.lowerBound)
    let part = map.isWhole ? "" : " from byte \(start) on"
    try console.row(
      style.bold(KeyText.shown(path.utf8))
        + ": \(Quantity.bytes(map.length))\(part), each letter \(Quantity.bytes(blocks.cellLength))")
    try console.line("")
    let keyspaceMap = KeyspaceMap(blocks)
    for line in showsKeyspaces ? keyspaceMap.lines(style) : blocks.lines(style) { try console.row(line) }
    try console.line("")
    for line in showsKeyspaces ? keyspaceMap.legend(style) : blocks.legend(style) { try console.row(line) }
    guard map.isWhole, !showsKeyspaces else { return }
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

  private static func write(_ map: FileMap, _ path: String, to writer: inout JSONOutput) {
    let totals = map.totals
    writer.beginDictionary()
    writer.member("path", path)
    writer.member("fileBytes", map.size)
    writer.key("kinds")
    writer.beginDictionary()
    for kind in Region.Kind.allCases where totals[kind] != nil || !kind.isLocked {
      writer.member(kind.rawValue, totals[kind] ?? 0)
    }
    writer.endDictionary()
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
    writer.endDictionary()
  }
}
