import LatewoodFleece
import LatewoodStore

extension CommandDescription {
  static let history = CommandDescription(
    name: "history",
    summary: "list the earlier states that can still be read",
    operands: [.database],
    options: [.limit],
    discussion: [
      "Each line is a checkpoint, a complete state of the database, the newest first. Pass the number of its "
        + "transaction to --as-of of get, list and export. Times are in UTC. Commits after "
        + "the newest checkpoint are in the database all the same. If a checkpoint is damaged or no "
        + "longer in the file, those before it cannot be reached either, and a last line says so."
    ],
    examples: [
      ExampleDescription(
        line: "latewood history my.latewood --limit 5", explanation: "The five newest checkpoints."),
      ExampleDescription(
        line: "latewood get my.latewood greeting --as-of 42",
        explanation: "The value at the checkpoint of transaction 42."),
    ],
    json: [
      #"{"checkpoints":[{"transaction":NUMBER,"time":"2026-03-01T09:30:00.000000Z","#,
      #"  "entries":NUMBER,"liveBytes":BYTES,"offset":BYTES,"#,
      #"  "isCompaction":true|false}, ...],"olderLost":true|false}"#,
    ]
  ) { arguments, console in
    let limit = try arguments.number(of: .limit) ?? UInt64.max
    let all = try Database.reading(arguments).closing { database in
      try database.store.history()
    }
    let checkpoints = all.prefix(Int(clamping: limit))
    let isOlderLost = all.last?.isOlderLost ?? false
    if console.printsJSON {
      try console.object { writer in
        writer.array("checkpoints", checkpoints) { writer, checkpoint in write(checkpoint, to: &writer) }
        writer.member("olderLost", isOlderLost)
      }
    } else if checkpoints.isEmpty {
      try console.line("No checkpoint yet: everything is in the log.")
    } else {
      try printTable(of: checkpoints, on: console)
      if isOlderLost, let oldest = all.last {
        try console.line(
          "Checkpoints before that of transaction \(oldest.transaction) could not be read.")
      }
    }
    return .success
  }

  private static func printTable(of checkpoints: some Sequence<Checkpoint>, on console: Console)
    throws
  {
    var rows = [["transaction", "time (UTC)", "entries", "live", "offset", ""]]
    for checkpoint in checkpoints {
      rows.append([
        "\(checkpoint.transaction)", Timestamp.shown(microseconds: checkpoint.time),
        Quantity.count(checkpoint.entries), Quantity.bytes(checkpoint.liveBytes), "\(checkpoint.offset)",
        checkpoint.isCompaction ? "compaction" : "",
      ])
    }
    // A narrow terminal drops the offset, because few users need it.
    if width(of: rows) > console.width { for row in rows.indices { rows[row].remove(at: 4) } }
    let widths = columns(of: rows)
    for (number, row) in rows.enumerated() {
      let cells = row.enumerated().map { place, cell in
        place == row.count - 1 ? cell : DisplayWidth.padded(cell, to: widths[place], right: place != 1)
      }
      var line = cells.joined(separator: "  ")
      while line.last == " " { line.removeLast() }
      line = DisplayWidth.fitted(line, to: console.width)
      try console.line(number == 0 ? console.style.bold(line) : line)
    }
  }

  private static func columns(of rows: [[String]]) -> [Int] {
    (rows.first ?? []).indices.map { place in rows.map { DisplayWidth.of($0[place]) }.max() ?? 0 }
  }

  private static func width(of rows: [[String]]) -> Int {
    let columns = columns(of: rows).filter { $0 > 0 }
    return columns.reduce(0, +) + 2 * (columns.count - 1)
  }

  private static func write(_ checkpoint: Checkpoint, to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.member("transaction", checkpoint.transaction)
    writer.member("time", Timestamp.exact(microseconds: checkpoint.time))
    writer.member("entries", checkpoint.entries)
    writer.member("liveBytes", checkpoint.liveBytes)
    writer.member("offset", checkpoint.offset)
    writer.member("isCompaction", checkpoint.isCompaction)
    writer.endDictionary()
  }
}
