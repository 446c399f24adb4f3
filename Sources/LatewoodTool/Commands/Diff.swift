import LatewoodStore

extension OptionDescription {
  static let sinceTransaction = OptionDescription(
    name: "--since", value: "NUMBER", summary: "compare with the checkpoint of this transaction (see history)"
  )
  static let diffKeyspace = OptionDescription(
    name: "--keyspace", value: "NAME", summary: "only this keyspace; documents are compared as raw records")
}

extension CommandDescription {
  static let diff = CommandDescription(
    name: "diff",
    summary: "list the entries added, changed and removed between two states",
    operands: [
      .database,
      OperandDescription(name: "OTHER", summary: "a second database: the newer one", isOptional: true),
    ],
    options: [.sinceTransaction, .diffKeyspace, .limit],
    discussion: [
      "Compares two files, or a file with an earlier state of itself. Parts of the tree that two states of one file "
        + "share are not read. Keyspaces are matched by name.",
      "Documents are compared by their revisions: every change of a body makes a new revision. A document whose "
        + "winner is a tombstone counts as missing.",
      "The exit code is 0 if nothing differs and 1 if something does. --limit applies to the lines; the sums count everything.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood diff backup.latewood my.latewood", explanation: "The changes since the backup."),
      ExampleDescription(
        line: "latewood diff my.latewood --since 1200 --limit 20",
        explanation: "The changes since a transaction that `latewood history` lists."),
    ],
    json: [
      #"a line for each: {"keyspace":"NAME","key":DATA,"#,
      #"  "change":"added"|"changed"|"removed","#,
      #"  "oldBytes":NUMBER or null,"newBytes":NUMBER or null};"#,
      #"of documents {"collection":"NAME","id":DATA,"change":...,"#,
      #"  "oldRevision":"TEXT" or null,"newRevision":"TEXT" or null};"#,
      #"at last {"added":NUMBER,"changed":NUMBER,"removed":NUMBER}"#,
    ]
  ) { arguments, console in
    var listing = DifferenceListing(console, limit: try arguments.number(of: .limit) ?? .max)
    if arguments.has(.sinceTransaction) {
      guard arguments.operand(1) == nil else {
        throw Failure.usage(
          "--since compares one file with itself", advice: "Give one file, or leave --since out.")
      }
      try Database.reading(arguments).closing { database in
        let old = try database.snapshot(after: try arguments.number(of: .sinceTransaction) ?? 0)
        try compare(database, old, database, arguments, &listing)
      }
    } else {
      guard arguments.operand(1) != nil else {
        throw Failure.usage(
          "there is nothing to compare with", advice: "Give a second file, or --since and a transaction.")
      }
      try Database.open(path: try arguments.text(0), .readOnly).closing { first in
        try Database.open(path: try arguments.text(1), .readOnly).closing { second in
          try compare(first, try first.newest(), second, arguments, &listing)
        }
      }
    }
    try listing.finish()
    return listing.total == 0 ? .success : .no
  }

  private static func compare(
    _ first: Database, _ old: Snapshot, _ second: Database, _ arguments: Arguments,
    _ listing: inout DifferenceListing
  ) throws {
    let wanted = try arguments.text(of: .diffKeyspace)
    let holdDocuments = try first.holdsDocuments()
    guard try holdDocuments == second.holdsDocuments() || wanted != nil else {
      throw Failure(
        .badInput, code: "wrongFormat", "one of the files holds documents and the other does not",
        advice: "Compare one keyspace of both: --keyspace.")
    }
    let comparison = StateComparison(
      old: old, new: try second.newest(), areOfOneFile: first.store === second.store,
      areDocuments: holdDocuments && wanted == nil)
    let names = try comparison.keyspaces()
    if let wanted, !names.contains(wanted) {
      throw Failure(
        .no, code: "noSuchKeyspace", "neither state has a keyspace \(KeyText.shown(wanted.utf8))",
        advice: "`latewood info` lists them.")
    }
    for name in names where wanted == nil || name == wanted {
      try comparison.run(in: name) {
        try listing.take($0)
        return true
      }
    }
  }
}
