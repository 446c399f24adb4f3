import LatewoodFleece
import LatewoodInspection

extension SalvageRun {
  /// Prints the report for people, in lines of at most 80 columns.
  func print(on console: Console) throws {
    let style = console.style
    try console.line(
      "\(isWhole ? style.good("Whole") : style.bad("Partial")): saved "
        + "\(Quantity.count(saved, "entry", "entries")) in "
        + "\(Quantity.count(keyspaces.count, "keyspace", "keyspaces")) of \(Quantity.bytes(report.fileSize))."
    )
    var rows: [(name: String, value: String)] = []
    rows.append(("certain", Quantity.count(saved - older - unproven)))
    if older > 0 { rows.append(("older versions", Quantity.count(older))) }
    if unproven > 0 { rows.append(("unproven", Quantity.count(unproven))) }
    if report.missing > 0 { rows.append(("lost", "\(Quantity.count(report.missing)) at least")) }
    rows.append(("up to transaction", Quantity.count(report.transaction)))
    try console.fields(rows)
    for keyspace in keyspaces where keyspace.isNameLost {
      try console.line("The name of a keyspace is lost: \(keyspace.name).")
    }
    for range in report.lostRanges.prefix(20) { try print(range, on: console) }
    if report.lostRangeCount > 20 {
      try console.line("… and \(Quantity.count(report.lostRangeCount - 20)) damaged places more; see --json.")
    }
    for damage in report.damagedLog { try print(damage, on: console) }
    if !report.unreadable.isEmpty {
      try console.line(
        "The disk does not give \(Quantity.count(report.unreadable.count, "stretch", "stretches")) of the file."
      )
    }
    try printList(on: console)
    if let faults = documentFaults, faults > 0 {
      try paragraph(
        "\(Quantity.count(faults, "fault", "faults")) between the documents that were saved. Make a sound file of "
          + "them: latewood export --documents, then latewood import --documents --id into a new one; "
          + "`latewood verify` names the faults.", on: console)
    }
  }

  private func printList(on console: Console) throws {
    if listed.isEmpty { return }
    try console.line(console.style.bold("not certain"))
    for item in listed {
      let what: String
      if case .older(let transaction) = item.trust {
        what = "older: as of transaction \(Quantity.count(transaction))"
      } else {
        what = "unproven"
      }
      let place = "  \(KeyText.shown(item.keyspace.utf8)) \(KeyText.shown(item.key))"
      try console.line(
        DisplayWidth.fitted(place, to: console.width - DisplayWidth.of(what) - 2) + "  " + what)
    }
    let rest = older + unproven - listed.count
    if rest > 0 { try console.line("  … and \(Quantity.count(rest)) more; see --list-older.") }
  }

  private func print(_ range: SalvageReport.LostRange, on console: Console) throws {
    let what =
      switch range.what {
      case .leaf: "A leaf of the tree"
      case .branch: "A branch of the tree"
      case .value: "A large value"
      case .tree: "What leads to the tree"
      }
    var text = "\(what) is damaged"
    if range.length > 0 {
      text += ", at offset \(range.offset), \(Quantity.bytes(range.length))"
    }
    text += ": \(Quantity.count(range.saved)) saved"
    if let expected = range.expected {
      // More entries than the tree counted means that the log has added some since.
      let count = Quantity.count(expected)
      text += range.saved > expected ? " (\(count) when the tree was written)" : " of \(count)"
    }
    text +=
      range.what == .value
      ? ", \(shown(range.low, isEnd: false))."
      : ", from \(shown(range.low, isEnd: false)) to \(range.high.map { shown($0, isEnd: true) } ?? "the end")."
    try paragraph(text, on: console)
  }

  private func print(_ damage: SalvageReport.DamagedLog, on console: Console) throws {
    var text = "The log is damaged from offset \(damage.range.lowerBound) to \(damage.range.upperBound): "
    text += "\(Quantity.count(damage.operations, "operation", "operations")) read beside the damage."
    if damage.isUnacknowledged {
      text += " What follows may never have been committed; it is listed as unproven."
    } else if let lost = damage.transactions {
      text +=
        lost.count == 1
        ? " Transaction \(lost.lowerBound) is concerned"
        : " Transactions \(lost.lowerBound) to \(lost.upperBound) are concerned"
      text += ": unlisted keys that it changed have their earlier value, or are missing."
    }
    try paragraph(text, on: console)
  }

  private func paragraph(_ text: String, on console: Console) throws {
    try console.output.write(HelpText.paragraph(text, indent: 0))
  }

  /// Returns a bound in readable form: the start of the key, and its keyspace.
  private func shown(_ bound: [UInt8], isEnd: Bool) -> String {
    guard bound.count >= 4 else { return isEnd ? "the end" : "the start" }
    let number = bound.prefix(4).bigEndian(UInt32.self)
    let rest = Array(bound.dropFirst(4))
    let key = rest.isEmpty ? "its start" : DisplayWidth.fitted(KeyText.shown(rest), to: 40)
    let name = keyspaces.first { $0.number == number }?.name
    return "\(key) in " + (name.map { KeyText.shown($0.utf8) } ?? "keyspace \(number)")
  }

  /// Writes the report for programs.
  func write(to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.member("whole", isWhole)
    writer.member("fileBytes", report.fileSize)
    writer.member("identity", report.origin.rawValue)
    writer.optional("checkpoint", report.checkpoint)
    writer.member("transaction", report.transaction)
    writer.member("saved", saved)
    writer.member("older", older)
    writer.member("unproven", unproven)
    writer.member("missing", report.missing)
    writer.list("keyspaces", keyspaces) { writer, keyspace in
      writer.member("name", keyspace.name)
      writer.member("entries", keyspace.entries)
      writer.member("older", keyspace.older)
      writer.member("unproven", keyspace.unproven)
      writer.member("nameLost", keyspace.isNameLost)
    }
    writer.list("lostRanges", report.lostRanges) { writer, range in
      writer.member("what", range.what.rawValue)
      writer.member("offset", range.offset)
      writer.member("length", range.length)
      writer.member("from", Hex.encode(range.low))
      writer.optional("to", text: range.high.map { Hex.encode($0) })
      writer.optional("expected", range.expected)
      writer.member("saved", range.saved)
    }
    writer.member("lostRangeCount", report.lostRangeCount)
    writer.list("damagedLog", report.damagedLog) { writer, damage in
      writer.member("offset", damage.range.lowerBound)
      writer.member("length", damage.range.upperBound - damage.range.lowerBound)
      writer.key("transactions")
      if let lost = damage.transactions {
        writer.beginArray()
        writer.number(lost.lowerBound)
        writer.number(lost.upperBound)
        writer.endArray()
      } else {
        writer.null()
      }
      writer.member("operations", damage.operations)
      writer.member("unacknowledged", damage.isUnacknowledged)
    }
    writer.list("unreadable", report.unreadable) { writer, range in
      writer.member("offset", range.lowerBound)
      writer.member("length", range.upperBound - range.lowerBound)
    }
    writer.list("uncertain", listed) { writer, item in
      writer.member("keyspace", item.keyspace)
      writer.member("key", data: item.key)
      if case .older(let transaction) = item.trust {
        writer.member("transaction", transaction)
      } else {
        writer.optional("transaction", nil as UInt64?)
      }
    }
    writer.optional("documentFaults", documentFaults)
    writer.endDictionary()
  }
}
