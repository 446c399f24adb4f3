extension CommandDescription {
  static let size = CommandDescription(
    name: "size",
    summary: "explain the size of the file, and how to reduce it",
    operands: [.database],
    options: [.limit],
    discussion: [
      "Divides the bytes of the file by purpose. Documents: current bodies, bodies of old revisions, "
        + "records with their revision trees, indexes, views, feed, blobs, local documents and times of expiry, by "
        + "collection. Plain entries: keys, values and large values, by keyspace. Then commits that no "
        + "checkpoint has merged into the tree (log), replaced or deleted data (dead), holes, which `ls` "
        + "counts and the disk does not, and empty blocks that still take space. The parts add up to the size of "
        + "the file.",
      "The sizes in the file are those of the newest checkpoint; contents are those of the newest commit. Bodies "
        + "in the file are divided into current and old by their lengths. Listed are the largest documents, and those "
        + "that were saved most often, or the largest entries: --limit of each, or 10.",
      "The space that a compaction would free is an estimate. It includes bodies of old revisions, blobs that nothing "
        + "current refers to, and documents past expiry; the sum of these is shown below it. Pruning shortens "
        + "the revision trees of records.",
      "It only reads, and works beside a process that writes. Live data that is damaged, or that the disk cannot "
        + "read, is listed: every compaction fails because of it. Keyspaces with such data are counted only "
        + "up to it, and the exit code is 1.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood size films.latewood", explanation: "Where the bytes are, and what helps."),
      ExampleDescription(
        line: "latewood size films.latewood --limit 50", explanation: "With the fifty largest documents."),
      ExampleDescription(
        line: "latewood size films.latewood --json", explanation: "All the numbers, for programs."),
    ],
    json: [
      #"{"path":"TEXT","holdsDocuments":true|false,"hasWriter":true|false,"#,
      #"  "fileBytes":BYTES,"allocatedBytes":BYTES,"#,
      #"  "parts":[{"part":"PART","bytes":BYTES}, ...],"#,
      #"  "collections":[{"name":"NAME" or null,"documents":NUMBER,"#,
      #"    "contentBytes":BYTES,"bytes":BYTES,"kinds":[{"kind":"PART","#,
      #"    "entries":NUMBER,"contentBytes":BYTES,"bytes":BYTES}, ...]}, ...],"#,
      #"  "largestDocuments":[{"collection":"NAME","id":"ID","bodyBytes":BYTES,"#,
      #"    "supersededBytes":BYTES,"recordBytes":BYTES,"revisions":NUMBER}, ...],"#,
      #"  "rewrittenDocuments":[{"collection":"NAME","id":"ID","#,
      #"    "generation":NUMBER,"revisions":NUMBER,"supersededBytes":BYTES}, ...],"#,
      #"  "keyspaces":[{"name":"NAME","entries":NUMBER,"keyBytes":BYTES,"#,
      #"    "valueBytes":BYTES,"bytes":BYTES,"largeValues":NUMBER,"#,
      #"    "largeValueBytes":BYTES}, ...],"#,
      #"  "largestEntries":[{"keyspace":"NAME","key":KEY,"#,
      #"    "valueBytes":BYTES}, ...],"#,
      #"  "faults":[{"offset":BYTES,"what":"TEXT"}, ...],"incomplete":["NAME", ...],"#,
      #"  "savings":{"compactedBytes":BYTES,"compactionSaves":BYTES,"#,
      #"    "supersededBytes":BYTES,"unneededBlobs":NUMBER,"#,
      #"    "unneededBlobBytes":BYTES,"unfinishedUploadBytes":BYTES,"#,
      #"    "expiredDocuments":NUMBER,"expiredBytes":BYTES,"#,
      #"    "depth":NUMBER or null,"tooDeepBytes":BYTES,"#,
      #"    "pruning":[{"depth":NUMBER,"bytes":BYTES}, ...]},"#,
      #"  "advice":[{"text":"TEXT","command":"TEXT" or null}, ...]}"#,
      "PART is currentBodies, supersededBodies, records, indexes, views, feed, blobs,",
      "localDocuments, expiry, entries, catalog, tree, log, dead, holes, zeros, room,",
      "header, damaged or rest: frame headers and padding. The parts add up",
      "to fileBytes. bytes are those in the newest checkpoint. faults are in live",
      "data; incomplete are keyspaces and collections counted only up to a fault.",
    ]
  ) { arguments, console in
    let limit = Int(clamping: try arguments.number(of: .limit) ?? 10)
    let report = try SizeReport.of(try arguments.text(0), limit: limit)
    if console.printsJSON {
      try console.json { report.write(to: &$0) }
    } else {
      try report.print(on: console)
    }
    return report.faults.isEmpty ? .success : .no
  }
}
