extension SizeReport {
  /// The approximate bytes on the disk that a compaction would save.
  var allocatedBytesSaved: UInt64 {
    parts.allocatedBytes - min(parts.allocatedBytes, savings.compactedBytes)
  }

  func print(on console: Console) throws {
    let style = console.style
    try console.row(style.bold(KeyText.shown(path.utf8)))
    try console.fields([
      ("  size, as ls shows it", Quantity.bytes(parts.fileBytes)),
      ("  on the disk, as du shows it", Quantity.bytes(parts.allocatedBytes)),
    ])
    try heading("contents of the file", console)
    for part in sum where part.bytes > 0 { try row(part.words, part.bytes, console) }
    try row("sum", sum.reduce(0) { $0 &+ $1.bytes }, console)
    if holdsDocuments {
      try printCollections(console)
      try printDocuments(console)
    } else {
      try printKeyspaces(console)
      try printEntries(console)
    }
    if faults.isEmpty { try printSavings(console) } else { try printFaults(console) }
    try heading("advice", console)
    for advice in SizeAdvice.all(about: self) {
      try console.output.write(
        HelpText.paragraph(advice.text, indent: 2, width: console.proseWidth)
          + (advice.command.map { "    \($0)\n" } ?? ""))
    }
  }

  private func printFaults(_ console: Console) throws {
    try heading("live data that cannot be read", console)
    for fault in faults.prefix(10) { try console.row("  " + SizeAdvice.line(about: fault)) }
    if faults.count > 10 { try console.row("  and \(Quantity.count(faults.count - 10)) more") }
    guard !incomplete.isEmpty else { return }
    let names = incomplete.prefix(10).map { KeyText.shown($0.utf8) }.joined(separator: ", ")
    let rest = incomplete.count > 10 ? " and \(Quantity.count(incomplete.count - 10)) more" : ""
    try console.output.write(
      HelpText.paragraph(
        "Counted only up to these faults: \(names)\(rest).", indent: 2, width: console.proseWidth))
  }

  private func heading(_ text: String, _ console: Console) throws {
    try console.line("")
    try console.row(console.style.bold(text))
  }

  private func row(_ words: String, _ bytes: UInt64, _ console: Console) throws {
    try console.row(
      "  " + DisplayWidth.padded(DisplayWidth.fitted(words, to: 38), to: 40)
        + DisplayWidth.padded(Quantity.bytes(bytes), to: 12, right: true)
        + DisplayWidth.padded(Quantity.share(bytes, of: parts.fileBytes), to: 8, right: true))
  }

  private static func columns(_ first: String, _ rest: [String]) -> String {
    "  " + DisplayWidth.padded(DisplayWidth.fitted(first, to: 32), to: 34)
      + rest.map { DisplayWidth.padded($0, to: 13, right: true) }.joined()
  }

  private func printCollections(_ console: Console) throws {
    try heading("by collection: bytes of contents now, and in the newest checkpoint", console)
    for collection in collections where !collection.kinds.isEmpty {
      let name = collection.name.map { KeyText.shown($0.utf8) } ?? "the database as a whole"
      let count = collection.name == nil ? "" : Quantity.count(collection.documents)
      try console.row(
        Self.columns(
          name, [count, Quantity.bytes(collection.contentBytes), Quantity.bytes(collection.fileBytes)]))
      for kind in collection.kinds {
        try console.row(
          Self.columns(
            "  " + kind.kind.words,
            [
              Quantity.count(kind.entries), Quantity.bytes(kind.contentBytes), Quantity.bytes(kind.fileBytes),
            ]))
      }
    }
  }

  private func printDocuments(_ console: Console) throws {
    try printDocuments(
      largestDocuments, "largest documents: bytes of bodies, of old bodies, of revision trees", console
    ) {
      [
        Quantity.bytes($0.size.bodyBytes), Quantity.bytes($0.size.supersededBytes),
        Quantity.bytes($0.size.recordBytes),
      ]
    }
    try printDocuments(
      rewrittenDocuments, "documents saved most often: how often, revisions kept, bytes of old bodies",
      console
    ) {
      [
        Quantity.count($0.size.generation), Quantity.count($0.size.revisions),
        Quantity.bytes($0.size.supersededBytes),
      ]
    }
  }

  private func printDocuments(
    _ documents: LargestItems<NotableDocument>, _ title: String, _ console: Console,
    _ columns: (NotableDocument) -> [String]
  ) throws {
    guard !documents.items.isEmpty else { return }
    try heading(title, console)
    for (document, _) in documents.items {
      let name = "\(document.collection) \(KeyText.shown(document.size.id.utf8))"
      try console.row(Self.columns(name, columns(document)))
    }
  }

  private func printKeyspaces(_ console: Console) throws {
    guard !keyspaces.isEmpty else { return }
    try heading("by keyspace: entries, bytes of keys, of values, in the newest checkpoint", console)
    for keyspace in keyspaces {
      let content = keyspace.content
      try console.row(
        "  " + DisplayWidth.padded(DisplayWidth.fitted(KeyText.shown(content.name.utf8), to: 22), to: 23)
          + [
            Quantity.count(content.entries), Quantity.bytes(content.keyBytes),
            Quantity.bytes(content.valueBytes), Quantity.bytes(keyspace.facts.bytes),
          ].map { DisplayWidth.padded($0, to: 13, right: true) }.joined())
      guard keyspace.facts.extents > 0 else { continue }
      try console.row(
        "    of these "
          + Quantity.count(keyspace.facts.extents, "large value", "large values")
          + " outside of the tree, \(Quantity.bytes(keyspace.facts.extentBytes))")
    }
  }

  private func printEntries(_ console: Console) throws {
    guard !largestEntries.items.isEmpty else { return }
    try heading("largest entries: keyspace, bytes of the value, key", console)
    for (entry, _) in largestEntries.items {
      try console.row(
        "  "
          + DisplayWidth.padded(
            DisplayWidth.fitted(KeyText.shown(entry.keyspace.utf8), to: 22), to: 23)
          + DisplayWidth.padded(Quantity.bytes(entry.valueBytes), to: 13, right: true) + "  "
          + DisplayWidth.fitted(KeyText.shown(entry.key), to: 40))
    }
  }

  private func printSavings(_ console: Console) throws {
    try heading("space that can be given back", console)
    func line(_ words: String, _ value: String) throws {
      try console.row("  " + DisplayWidth.padded(words, to: 46) + value)
    }
    let after = "to \(Quantity.bytes(savings.compactedBytes)) or so"
    try line("a compaction, on the disk", "\(Quantity.bytes(allocatedBytesSaved)), \(after)")
    guard holdsDocuments else { return }
    let unneeded = savings.unneeded
    try line("  of that, bodies of old revisions", Quantity.bytes(savings.supersededBytes))
    try line(
      "  \(Quantity.count(unneeded.unneeded, "blob", "blobs")) that nothing current refers to",
      Quantity.bytes(unneeded.unneededBytes))
    if savings.unfinishedUploadBytes > 0 {
      try line("  blobs that were never finished", Quantity.bytes(savings.unfinishedUploadBytes))
    }
    try line(
      "  \(Quantity.count(savings.expired, "document", "documents")) past expiry",
      Quantity.bytes(savings.expiredBytes))
    if savings.tooDeepBytes > 0 {
      try line("  revision trees deeper than the setting", Quantity.bytes(savings.tooDeepBytes))
    }
    for (depth, bytes) in savings.pruning {
      let generations = Quantity.count(depth, "generation", "generations")
      try line(
        "pruning to \(generations), now \(savings.depth ?? 0)", Quantity.bytes(bytes))
    }
  }
}
